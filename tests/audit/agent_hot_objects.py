#!/usr/bin/env python3
"""Checks that the objects of agent/hot call nothing that allocates, locks, blocks or is a cancellation point.

usage: agent_hot_objects.py libstallscope_agent_parts.a
"""
import re
import subprocess
import sys

OBJECTS = {"clock.cc.o", "current_wait.cc.o", "process_state.cc.o", "ring_writer.cc.o", "string_table.cc.o",
           "thread_slot.cc.o", "waiters.cc.o"}
# All async-signal-safe in glibc; clock_gettime is the vDSO's.
ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "clock_gettime", "_GLOBAL_OFFSET_TABLE_"}
OURS = re.compile(r"_Z[A-Z]*10stallscope")


def main():
    listing = subprocess.run(["nm", "-uA", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    seen, found = set(), []
    for line in listing.splitlines():
        where, _, name = line.rpartition(" ")
        member = re.search(r":([^:]+\.o):", where)
        if not member or member.group(1) not in OBJECTS:
            continue
        seen.add(member.group(1))
        if name not in ALLOWED and not OURS.match(name):
            found.append(f"{member.group(1)}: uses {name}")
    found += [f"{name}: not found in the archive, is it still built?" for name in sorted(OBJECTS - seen)
              if name not in ("process_state.cc.o",)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
