#!/usr/bin/env python3
"""Every hook is called by a program that shows its result and errno: a new row of the table of OS calls needs a line in one of them.

usage: hooks_called_test.py OS_CALLS_H AUDIT_FOLDER PROGRAM...
"""
import ctypes
import subprocess
import sys


def main():
    sys.path.insert(0, sys.argv[2])
    import agent_binary
    hooks = {symbol.split("@")[0] for symbol in agent_binary.table_symbols(sys.argv[1])}
    called = set()
    for program in sys.argv[3:]:
        listing = subprocess.run(["nm", "-D", "--undefined-only", program], check=True, capture_output=True, text=True).stdout
        called |= {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.strip()}
    c_library = ctypes.CDLL(None)  # some that the table names are in no C library yet
    missing = sorted(hook for hook in hooks - called if hasattr(c_library, hook))
    print(f"{len(hooks)} hooked functions, {len(missing)} that no program calls: {' '.join(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
