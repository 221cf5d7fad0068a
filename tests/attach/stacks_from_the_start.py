"""attach --level stacks: waits of threads that ran before name their functions from then on; an attach without it takes none."""
import ctypes.util
import json
import time

from subjects import BUILD, FOLDER, attach, detach, skip, started, tool, wait_for
from road import dump, end, start_collector

if not ctypes.util.find_library("unwind-x86_64"):
    skip("libunwind-x86_64.so.8 (Debian's libunwind8) is not installed")
process = started(BUILD / "bin/known_stack", 3, 1_000_000, 5)
mutex = process.first_line.strip()


def waits_of(turn, level):
    """The waits for the mutex that one attach at this level has recorded."""
    socket, capture = FOLDER / f"{turn}.sock", FOLDER / f"{turn}.stallcap"
    collector = start_collector("--capture", capture, "--listen", socket, "--http", "127.0.0.1:0")
    begin_ns = time.monotonic_ns()  # a wait that began before belongs to the attach before
    attach(process.pid, "--collector", socket, "--level", level)

    def recorded():
        shown = json.loads(tool("top", "--once", "--json", "--collector", socket).stdout or "{}").get("processes", [])
        return shown and shown[0]["health"]["events"] > 400 and shown[0]["agent"]["level"]

    shown = wait_for(recorded, "events", 60)
    assert shown == level, (turn, shown)
    detach(process.pid)
    end(collector)
    return [event for event in dump(capture) if event.get("object") == mutex and event["begin_ns"] > begin_ns and
            event["end_ns"] - event["begin_ns"] > 500_000]


# The second attach finds an agent that took stacks before, the third one that took none.
for turn, level in enumerate(("stacks", "budget", "stacks", "kernels")):
    waits = waits_of(turn, level)
    stacks = [wait["frames"] for wait in waits if "frames" in wait]
    print(f"{level}: {len(waits)} waits, {len(stacks)} with a stack")
    assert len(waits) > 20, (turn, len(waits))
    if level == "stacks":
        # Until the streaming thread has looked at a thread for the first time, its waits have no stacks.
        assert len(stacks) > len(waits) / 2, (turn, len(waits), len(stacks))
        assert all(stack[0].startswith("engine::Scheduler::TakeNextRequest(int)") for stack in stacks), stacks[0]
        assert all(len(stack) > 5 and any("main" in frame for frame in stack) for stack in stacks), stacks[0]
    else:
        assert not [wait for wait in waits if "stack" in wait], turn
assert process.poll() is None
refused = tool("attach", process.pid, "--level", "everything")
assert refused.returncode == 2 and "everything" in refused.stderr and "stacks" in refused.stderr, refused
end(process)
