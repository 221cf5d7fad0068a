#!/usr/bin/env python3
"""Other allocators, loaded before and after the agent: a threaded Python program runs as without it.

usage: allocators_test.py LIBRARY INTERPRETER
"""
import ctypes.util
import os
import subprocess
import sys
import tempfile

from environment import Agent

PROGRAM = """
import subprocess, threading, queue
box = queue.Queue()
def work():
    for _ in range(300): box.put(bytearray(1000))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(1200): box.get()
for thread in threads: thread.join()
print(subprocess.check_output(["echo", "child"]).decode().strip())
"""


def main():
    library, interpreter = sys.argv[1:3]
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(library, folder)
        for name in ("jemalloc", "tcmalloc", "tcmalloc_minimal", "mimalloc"):
            allocator = ctypes.util.find_library(name)
            if not allocator:
                continue
            tried += 1
            for order in (f"{allocator}:{library}", f"{library}:{allocator}"):
                done = subprocess.run([interpreter, "-c", PROGRAM], env=dict(agent.environment(), LD_PRELOAD=order),
                                      capture_output=True, text=True, timeout=120)
                assert (done.returncode, done.stdout) == (0, "child\n"), (order, done)
                print(f"{order}: ok")
    if not tried:
        print("no other allocator is installed (Debian: libjemalloc2, libtcmalloc-minimal4, libmimalloc2.0)")
    return 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
