"""Attach and detach where another allocator serves the program: its threads are looked at with the same care."""
import ctypes.util
import pathlib

from subjects import BUSY, Stops, cycle, finish, skip, started

tried = 0
for name in ("jemalloc", "tcmalloc_minimal", "mimalloc"):
    library = ctypes.util.find_library(name)
    paths = [path for path in pathlib.Path("/usr/lib").glob(f"*/{library}")] if library else []
    if not paths:
        print(f"NOT TRIED: lib{name} is not installed")
        continue
    stops = Stops()
    process = started(BUSY, 600, environment={"LD_PRELOAD": str(paths[0])})
    cycle(process.pid, 15, stops)
    exit_code, rest = finish(process)
    assert exit_code == 0 and "result ok, eintr 0, early 0" in rest, (name, exit_code, rest)
    print(f"{name}: {rest.strip()}; {stops.line()}")
    tried += 1
if tried == 0:
    skip("no other allocator is installed")
