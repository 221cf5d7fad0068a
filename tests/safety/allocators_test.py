#!/usr/bin/env python3
"""Other allocators, loaded before and after the agent: a threaded Python program and C programs run as without it.

usage: allocators_test.py LIBRARY INTERPRETER PROGRAM...
"""
import ctypes.util
import os
import subprocess
import sys
import tempfile

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


# Debian names the files with their number, and ctypes finds them by the loader's cache.
ALLOCATORS = {"jemalloc": "libjemalloc2", "tcmalloc": "libgoogle-perftools4", "tcmalloc_minimal": "libtcmalloc-minimal4",
              "mimalloc": "libmimalloc2.0"}


def main():
    library, interpreter, *programs = sys.argv[1:]
    run_pair = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_pair.py")
    tried = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "program.py")
        with open(script, "w") as file:
            file.write(PROGRAM)
        for name, package in ALLOCATORS.items():
            allocator = ctypes.util.find_library(name)
            if not allocator:
                print(f"{name}: left out, not installed (Debian: {package})")
                continue
            tried += 1
            for command in ([interpreter, script], *([program] for program in programs)):
                done = subprocess.run([sys.executable, run_pair, "--beside", allocator, library, *command], capture_output=True,
                                      text=True)
                if done.returncode != 0:
                    failed += 1
                    print(f"{name}: {command}: differs\n{done.stdout}{done.stderr}")
            print(f"{name}: {len(programs) + 1} programs, the agent behind it and in front of it")
    if not tried:
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
