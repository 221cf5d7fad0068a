"""top --once --json while a program runs: the documented schema, and the lines sum to the wall time exactly."""
import json

from road import FOLDER, STALLSCOPE, TOKEN_LOOP, check_budget, end, start, stderr_of, tool, wait_for

run = start(STALLSCOPE, "run", "--", TOKEN_LOOP, 0, 0, FOLDER / "twenty-steps")
wait_for((FOLDER / "twenty-steps").exists, "the program's first steps")


def decoding():
    done = tool("top", "--once", "--json", "--window", "10s")
    assert done.returncode == 0, done.stderr
    processes = check_budget(json.loads(done.stdout))
    return [process for process in processes if process["steps"] > 0]


process = wait_for(decoding, "steps in the live budget")[0]
assert process["tokens"] == 4 * process["steps"], process
assert process["tokens_source"] == "marker", process
assert process["wall_ns"] > 0

text = tool("top", "--once")
assert text.returncode == 0 and "per step" in text.stdout, text
ps = json.loads(tool("ps", "--json").stdout)
assert [p["comm"] for p in ps["processes"]] == ["token_loop"], ps
assert end(run) == 0, stderr_of(run)
gone = tool("top", "--once")
assert gone.returncode == 4, gone
