#!/usr/bin/env python3
"""The Python interpreter lock is a wait of its own: contended, it is recorded as python_gil with its wakers; a condition variable of the
program is not taken for it.

usage: python_lock_test.py LIBRARY PROGRAM OS_CALLS_H INTERPRETER...
"""
import subprocess
import sys
import tempfile

import drain
from environment import Agent
from recorded_calls_test import call_names, events


def check(library, program, calls, interpreter):
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(library, folder)
        collector = drain.Collector(agent.socket)
        process = agent.start(interpreter, program, threshold_ns=1000)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and out.startswith("done") and err == "", (out, err)
        own = [connection for connection in collector.connections if connection.hello()[5] == process.pid]
        waits, wakes = [], []
        for connection in own:
            assert connection.closed.wait(30)
            for total, found in zip((waits, wakes), events(connection)):
                total += found
        collector.close()
        collector.release()
    locks = [wait for wait in waits if wait["call"] == calls.index("python_gil")]
    waited_ns = sum(wait["duration"] for wait in locks)
    assert len(locks) > 10 and waited_ns > 20e6, f"{len(locks)} waits of {waited_ns / 1e6:.0f} ms for the lock"
    # Two threads: what one waits for is one condition variable, and the other lets it go on.
    woken = [wait for wait in locks if any(wake["object"] == wait["object"] and wake["thread"] != wait["thread"] and
             wait["begin"] <= wake["begin"] <= wait["begin"] + wait["duration"] for wake in wakes)]
    assert len(woken) > 3, f"only {len(woken)} of {len(locks)} waits have a waker"
    print(f"{interpreter}: {out.strip()}: {len(locks)} waits for the lock, {waited_ns / 1e6:.0f} ms, {len(woken)} with their waker")


def main():
    library, program, calls_h = sys.argv[1:4]
    calls = call_names(calls_h)
    tried = 0
    for interpreter in sys.argv[4:]:
        question = "import sys, sysconfig; print(sys.version_info >= (3, 7) and not sysconfig.get_config_var('Py_GIL_DISABLED'))"
        answer = subprocess.run([interpreter, "-c", question], capture_output=True, text=True)
        if answer.returncode != 0 or answer.stdout.strip() != "True":
            print(f"skipped: {interpreter} is no Python with an interpreter lock")
            continue
        check(library, program, calls, interpreter)
        tried += 1
    return 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
