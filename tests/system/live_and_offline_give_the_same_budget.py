"""run --json (live collector) and budget FILE --json (capture): the same steps, tokens and nanoseconds by line."""
import json

from road import FOLDER, TOKEN_LOOP, check_budget, tool

capture = FOLDER / "same.stallcap"
done = tool("run", "--json", "--capture", capture, "--command-output", FOLDER / "output", "--", TOKEN_LOOP, 200)
assert done.returncode == 0, done
assert (FOLDER / "output").read_text() == "token_loop: done\n"
live = check_budget(json.loads(done.stdout))
offline = check_budget(json.loads(tool("budget", capture, "--json").stdout))
assert len(live) == len(offline) == 1
for member in ("pid", "steps", "tokens", "wall_ns"):
    assert live[0][member] == offline[0][member], (member, live[0][member], offline[0][member])
ns = lambda process: {name: line["ns"] for name, line in process["lines"].items() if line["ns"]}
assert ns(live[0]) == ns(offline[0]), (ns(live[0]), ns(offline[0]))
