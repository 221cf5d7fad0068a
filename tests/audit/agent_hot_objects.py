#!/usr/bin/env python3
"""Checks that the objects of agent/hot call nothing that allocates, locks, blocks or is a cancellation point, and that those which
relocate the agent early (agent/entry/early_calls.h) call nothing of the C library at all.

usage: agent_hot_objects.py libstallscope_agent_parts.a
"""
import re
import subprocess
import sys

OBJECTS = {"clock.cc.o", "current_wait.cc.o", "process_state.cc.o", "ring_writer.cc.o", "string_table.cc.o",
           "thread_slot.cc.o", "waiters.cc.o"}
EARLY_OBJECTS = {"early_calls.cc.o", "elf_module.cc.o"}
# All async-signal-safe in glibc; clock_gettime is the vDSO's.
ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "clock_gettime", "_GLOBAL_OFFSET_TABLE_"}
ALLOWED_EARLY = {"__ehdr_start", "_GLOBAL_OFFSET_TABLE_"}
OURS = re.compile(r"_Z[A-Z]*10stallscope")


def main():
    listing = subprocess.run(["nm", "-uA", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    seen = set(subprocess.run(["ar", "t", sys.argv[1]], check=True, capture_output=True, text=True).stdout.split())
    found = []
    for line in listing.splitlines():
        where, _, name = line.rpartition(" ")
        member = re.search(r":([^:]+\.o):", where)
        if not member or member.group(1) not in OBJECTS | EARLY_OBJECTS:
            continue
        allowed = ALLOWED_EARLY if member.group(1) in EARLY_OBJECTS else ALLOWED
        if name not in allowed and not OURS.match(name):
            found.append(f"{member.group(1)}: uses {name}")
    found += [f"{name}: not found in the archive, is it still built?" for name in sorted((OBJECTS | EARLY_OBJECTS) - seen)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
