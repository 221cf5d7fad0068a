"""A run under somebody else's collector, in a folder of its own: it is found by its socket, and the report holds the
processes that the command started, not other ones."""
import json

from road import FOLDER, TOKEN_LOOP, check_budget, start, start_collector, tool, wait_for

SOCKET = FOLDER / "elsewhere.sock"
start_collector("--listen", SOCKET)
stranger = start(TOKEN_LOOP, 0, 0, FOLDER / "stranger", environment={"STALLSCOPE_SOCKET": str(SOCKET)})

done = tool("run", "--collector", SOCKET, "--json", "--command-output", FOLDER / "said", "--", "sh", "-c", f"{TOKEN_LOOP} 60; true")
assert done.returncode == 0, done.stderr
processes = check_budget(json.loads(done.stdout))
loops = [process for process in processes if process["comm"] == "token_loop"]
assert len(loops) == 1, processes
# The last step is in as well: the report waits until the collector has read everything.
assert loops[0]["steps"] >= 59, loops

assert tool("top", "--once", "--json", "--collector", SOCKET).returncode == 0
