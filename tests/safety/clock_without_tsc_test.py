#!/usr/bin/env python3
"""Where the kernel does not trust the TSC, neither does the agent: it takes CLOCK_MONOTONIC, and records the same waits.

The kernel's answer is replaced in a mount namespace of the test's own, which needs root.
usage: clock_without_tsc_test.py LIBRARY EACH_WAIT OS_CALLS_H
"""
import os
import subprocess
import sys
import tempfile

import drain
from environment import Agent
from recorded_calls_test import call_names, check_each_wait

ANSWER = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def ticks_are_ns(agent, program):
    """True: the memory's clock ticks are nanoseconds."""
    collector = drain.Collector(agent.socket)
    process = agent.start(program)
    process.communicate(timeout=60)
    own = [connection for connection in collector.connections if connection.hello()[5] == process.pid][0]
    memory = drain.SharedMemory(own.memory_fds[0])
    slot = next(slot for slot in memory.slots() if slot["tid"] == process.pid)
    # A slot's start is in ticks; the process's start in the header is in ns of the same clock.
    near = abs(slot["start"] - memory.start_ns) < 60_000_000_000
    collector.close()
    collector.release()
    return near


def inside(library, program, calls_h):
    for source in ("hpet", "kvm-clock"):
        with tempfile.TemporaryDirectory() as folder:
            answer = os.path.join(folder, "answer")
            with open(answer, "w") as file:
                file.write(source + "\n")
            subprocess.run(["mount", "--bind", answer, ANSWER], check=True)
            agent = Agent(library, folder)
            assert ticks_are_ns(agent, program), "the agent reads the TSC that the kernel does not trust"
            check_each_wait(agent, program, call_names(calls_h))
            subprocess.run(["umount", ANSWER], check=True)
            print(f"{source}: ok")
    return 0


def main():
    if sys.argv[1] == "--inside":
        return inside(*sys.argv[2:5])
    if not os.path.exists(ANSWER):
        print("skipped: no clock source to be asked for")
        return 77
    probe = subprocess.run(["unshare", "-m", "sh", "-c", f"mount --bind /dev/null {ANSWER}"], capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"skipped: no mount namespace here ({probe.stderr.strip()})")
        return 77
    return subprocess.run(["unshare", "-m", sys.executable, os.path.abspath(__file__), "--inside", *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
