"""budget FILE --json: the documented schema; steps and tokens are what the program delivered."""
import json

from road import check_budget, record, tool

capture = record("budget", 2000)
done = tool("budget", capture, "--json")
assert done.returncode == 0, done
processes = check_budget(json.loads(done.stdout))
assert len(processes) == 1, processes
process = processes[0]
assert process["comm"] == "token_loop", process
# The step before the first marker may or may not count.
assert process["steps"] in (1999, 2000), process["steps"]
assert process["tokens"] == 4 * process["steps"], process
assert process["wall_ns"] >= 1999 * 1_000_000, "each step sleeps 1 ms"
assert process["health"]["events"] > 0 and process["health"]["dropped"] == 0, process["health"]

window = json.loads(tool("budget", capture, "--json", "--window", "1s").stdout)
assert 0 < check_budget(window)[0]["steps"] < process["steps"], window
assert tool("budget", capture, "--window", "soon").returncode == 2
