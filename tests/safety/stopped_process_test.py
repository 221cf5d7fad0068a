#!/usr/bin/env python3
"""SIGSTOP and SIGCONT, and a debugger that comes and goes, while the program waits in hooks: it ends as ever, and everything that it
recorded was received or counted as lost.

usage: stopped_process_test.py LIBRARY BUSY_WAITS
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import drain
from environment import Agent, wait_until

ROUNDS = "200000"


def finish(process, collector):
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, f"done {ROUNDS}\n", ""), (process.returncode, out, err)
    connection = collector.connections[0]
    assert connection.closed.wait(30)
    health = dict(drain.fields(connection.of_kind(drain.HEALTH)[-1]))
    assert connection.records() + health.get(3, 0) == health[2], (connection.records(), health)
    collector.close()
    collector.release()
    return connection.records()


def check_stop_and_continue(agent, program):
    collector = drain.Collector(agent.socket)
    process = agent.start(program, ROUNDS)
    wait_until(lambda: collector.connections and collector.connections[0].records() > 0, "records")
    stops = 0
    while process.poll() is None and stops < 50:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.004)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.002)
        stops += 1
    print(f"{stops} stops, {finish(process, collector)} records")


def check_debugger(agent, program):
    if not shutil.which("gdb"):
        return print("left out: no gdb")
    collector = drain.Collector(agent.socket)
    process = agent.start(program, ROUNDS)
    wait_until(lambda: collector.connections and collector.connections[0].records() > 0, "records")
    visits = 0
    for _ in range(3):
        answer = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt 3", "-p",
                                 str(process.pid)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        visits += "Thread" in answer.stdout
        if process.poll() is not None:
            break
    if visits == 0 and process.poll() is None:
        print(f"left out: gdb may not attach here ({answer.stderr.strip().splitlines()[-1:]})")
    print(f"{visits} visits of a debugger, {finish(process, collector)} records")


def main():
    library, program = sys.argv[1:3]
    for check in (check_stop_and_continue, check_debugger):
        with tempfile.TemporaryDirectory() as folder:
            check(Agent(library, folder), program)
            print(f"{check.__name__}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
