#!/usr/bin/env python3
"""Python's fork, spawn and forkserver with every warning an error: the agent must add none. Each interpreter found is tried.

CPython from 3.12 on warns when a process with several threads forks, so a thread of ours would show. Also after the program's own
threads have ended.
usage: python_fork_test.py LIBRARY INTERPRETER...
"""
import os
import subprocess
import sys
import tempfile

import drain
from environment import Agent

PROGRAM = """
import multiprocessing, os, sys, threading, time, warnings
warnings.simplefilter("error")

def child(number):
    assert threading.active_count() == 1
    return number * number

def own_threads():
    # A thread that was joined may be on its way out still.
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                if task != str(os.getpid()) and file.read() != "stallscope\\n":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False

def forks():
    while own_threads():
        time.sleep(0.001)
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    # What CPython counts at this moment from 3.12 on, checked in older ones too: the agent's thread must be gone.
    assert len(os.listdir("/proc/self/task")) == 1
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 7

if __name__ == "__main__":
    forks()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    forks()
    import subprocess
    assert subprocess.check_output(["echo", "x"]) == b"x\\n"
    process = multiprocessing.get_context("fork").Process(target=child, args=(3,))
    process.start()
    process.join()
    assert process.exitcode == 0
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(child, range(4)) == [0, 1, 4, 9]
    print("ok", threading.active_count())
"""


def main():
    library, tried = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "program.py")
        with open(script, "w") as file:
            file.write(PROGRAM)
        agent = Agent(library, folder)
        for interpreter in sys.argv[2:]:
            plain = subprocess.run([interpreter, "-W", "error", script], capture_output=True, text=True, timeout=120)
            if plain.returncode != 0:
                print(f"{interpreter}: fails without the agent: {plain.stderr.splitlines()[-1:]}; left out")
                continue
            tried += 1
            for with_collector in (False, True):
                collector = drain.Collector(agent.socket) if with_collector else None
                done = subprocess.run([interpreter, "-W", "error", script], env=agent.environment(), capture_output=True,
                                      text=True, timeout=120)
                assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr), (
                    interpreter, with_collector, done)
                if collector:
                    assert collector.connections
                    collector.close()
                    collector.release()
            print(f"{interpreter}: ok")
    return 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
