"""detach through the collector, which needs no right to trace the process: the agent lets go, and attach takes it up again."""
import json

from subjects import TARGETS, FOLDER, attach, detach, finish, refused, started, tool, wait_for
from road import TOKEN_LOOP, end, start, start_collector

collector = start_collector()
process = start(TOKEN_LOOP, 0)
attach(process.pid)


def live():
    rows = json.loads(tool("ps", "--json").stdout)["processes"]
    return [row for row in rows if row["pid"] == process.pid and row["live"]]


wait_for(live, "the process in the collector's list")
done = tool("detach", "--by-collector", "--json", process.pid)
assert done.returncode == 0 and json.loads(done.stdout)["by"] == "collector", done
wait_for(lambda: not live(), "its end in the collector's list")
print(refused(process.pid, "done before", command="detach"))
again = attach(process.pid)
assert again["slots"] > 0, again
wait_for(live, "the process in the list again")
assert detach(process.pid)["slots_given_back"] == again["slots"]
assert end(process) == 0
# One that has no thread of the agent's, and one that the collector does not know.
alone = started(TARGETS, "plain")
attach(alone.pid)
print(refused(alone.pid, "no thread of the agent", command="detach", options=("--by-collector",)))
print(refused(4194303, "not connected to this collector", command="detach", options=("--by-collector",)))
assert finish(alone)[0] == 0
end(collector)
print(refused(4194303, "no collector listens", command="detach", options=("--by-collector", "--collector", FOLDER / "no.sock")))
