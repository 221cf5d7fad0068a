#!/usr/bin/env python3
"""docs/os-calls.md is written from the table of OS calls (proto/wire/os_calls.h); this says whether it still is.

usage: os_calls_page.py ROOT [--write]
"""
import pathlib
import re
import sys

INTRODUCTION = """# The OS calls that Stallscope sees

<!-- Written by tests/checks/os_calls_page.py --write from proto/wire/os_calls.h: do not edit. -->

Names are spelled as Nsight Systems spells them, so that its tables and ours can be laid side by side. A finished call below the
threshold (1 us; `STALLSCOPE_WAIT_THRESHOLD_NS`) is only counted, with one exception taken over from there: the five calls marked
*contended* are recorded whenever the lock was held, however short, and never when it was free.

The line is the one charged when nobody is known to have ended the wait (`docs/budget.md`). A symbol with a version is hooked at that
version only; all others serve a reference of any version. Calls that the C library makes inside itself (the futex of a condition
variable) do not pass a hook and are never counted twice.

| what happens | |
|---|---|
"""

RULES = {
    "kTimed": ("timed", "timed always, recorded from the threshold on"),
    "kContended": ("contended", "tried first; when the lock is held, timed and recorded however short"),
    "kTryFirst": ("try first", "tried first; when it must wait, timed and recorded from the threshold on"),
    "kBuffered": ("buffered", "passed through while the stream's buffer serves it, else timed and recorded from the threshold on"),
    "kStorm": ("storm", "calls in a row, less than some 20 us apart, become one record with their number, cut every 1 ms or so"),
    "kWake": ("wake-up", "recorded only while somebody waits on the object, as what lets the waiter go on"),
}
LINES = {
    "kNone": "-", "kLock": "host.lock", "kCondition": "host.wait_thread", "kSemaphore": "host.wait_thread",
    "kBarrier": "host.wait_thread", "kJoin": "host.wait_thread", "kFutex": "host.wait_thread", "kPoll": "host.ipc",
    "kIpc": "host.ipc", "kFile": "host.io", "kSleep": "host.sleep", "kSpin": "host.spin", "kGil": "host.gil", "kSystem": "host.cpu",
}
OBJECTS = {"kNone": "", "kAddress": "address", "kFd": "descriptor", "kThread": "thread"}
ROW = re.compile(r'X\(\s*(k\w+),\s*"(\w+)",\s*(k\w+),\s*(k\w+),\s*(k\w+),[\s\\]*((?:"[^"]*"[\s\\]*)+)\)')
LEFT_ALONE = re.compile(r'X\(\s*"(\w+)",[\s\\]*"([^"]+)"\)')


def page(text):
    at = text.index("#define STALLSCOPE_OS_CALLS_LEFT_ALONE")
    out = INTRODUCTION + "".join(f"| {short} | {long} |\n" for short, long in RULES.values())
    out += "\n## Hooked\n\n| name | rule | line | object | symbols |\n|---|---|---|---|---|\n"
    rows = ROW.findall(text[:at])
    assert len(rows) == text[:at].count("X(k"), "a row of the table does not read like the others"
    for _, name, wait, thing, rule, literals in rows:
        symbols = "".join(re.findall(r'"([^"]*)"', literals)).split()
        out += f"| `{name}` | {RULES[rule][0]} | {LINES[wait]} | {OBJECTS[thing]} | {' '.join(f'`{s}`' for s in symbols)} |\n"
    out += "\n## On Nsight Systems' documented list and not hooked\n\n| name | why |\n|---|---|\n"
    for name, why in LEFT_ALONE.findall(text[at:]):
        out += f"| `{name}` | {why} |\n"
    return out


def main():
    root = pathlib.Path(sys.argv[1])
    expected = page((root / "proto/wire/os_calls.h").read_text())
    target = root / "docs/os-calls.md"
    if "--write" in sys.argv[2:]:
        target.write_text(expected)
        return 0
    if not target.exists() or target.read_text() != expected:
        print("docs/os-calls.md is not what the table says: tests/checks/os_calls_page.py ROOT --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
