"""A C++ program blocks on a known mutex in a known function: at level stacks the dump shows both; at level budget nothing."""
import ctypes.util
import json

from road import BUILD, FOLDER, skip, tool

if not ctypes.util.find_library("unwind-x86_64"):
    skip("libunwind-x86_64.so.8 (Debian's libunwind8) is not installed")
PROGRAM = BUILD / "bin/known_stack"


def waits(level, *arguments):
    capture = FOLDER / f"{level}.stallcap"
    done = tool("run", "--level", level, "--capture", capture, "--", PROGRAM, *arguments)
    assert done.returncode == 0, done
    mutex = next(line for line in done.stdout.splitlines() if line.startswith("0x"))
    lines = [json.loads(line) for line in tool("dump", capture, "--format", "json").stdout.splitlines()]
    return mutex, [line for line in lines if line["kind"] == "wait"], capture


# 30 waits of 2 ms (walked by the thread itself) and one of 150 ms (walked by the streaming thread while it lasts).
for arguments in (("2", "30", "25"), ("150", "1", "0")):
    mutex, found, capture = waits("stacks", *arguments)
    on_mutex = [wait for wait in found if wait.get("object") == mutex and wait["end_ns"] - wait["begin_ns"] > 500_000]
    assert len(on_mutex) == int(arguments[1]), (arguments, len(on_mutex))
    stacks = [wait["frames"] for wait in on_mutex if "frames" in wait]
    # Until the streaming thread has looked at a thread for the first time, its waits have no stacks.
    assert len(stacks) > len(on_mutex) / 3, (arguments, len(stacks))
    assert all(stack[0].startswith("engine::Scheduler::TakeNextRequest(int)") for stack in stacks), stacks[0]
    assert all(len(stack) > int(arguments[2]) for stack in stacks), stacks[0]
    assert any("main" in frame for frame in stacks[0]), stacks[0]
    assert len({wait["stack"] for wait in on_mutex if "stack" in wait}) <= 2, "the same stack has many numbers"
    text = tool("dump", capture).stdout
    assert any("pthread_mutex_lock" in line and "frames=engine::Scheduler::TakeNextRequest" in line
               for line in text.splitlines()), text[:2000]
    short = [wait for wait in found if wait["end_ns"] - wait["begin_ns"] < 100_000]
    assert not [wait for wait in short if "stack" in wait], "a short wait has a stack"

_, found, _ = waits("budget", "2", "5")
assert not [wait for wait in found if "stack" in wait]
