"""A detach while threads sit in the agent's hooks: they come back when what they wait for comes, and the program runs on for a minute.

usage: threads_in_hooks.py [SECONDS]
"""
import sys
import time

from subjects import TARGETS, attach, detach, finish, started

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
process = started(TARGETS, "in-hooks")
turns = 0


def let_go():
    global turns
    process.stdin.write(b"go\n")
    process.stdin.flush()
    turns += 1
    line = process.stdout.readline().decode().split()
    assert line == ["ready", str(turns)], (line, turns, process.poll())


for round_number in range(20):
    attach(process.pid)
    let_go()
    let_go()  # from here on each thread sits in a call that it made through its hook
    time.sleep(0.01)
    detach(process.pid)
    let_go()
end = time.monotonic() + seconds
while time.monotonic() < end:
    let_go()
    time.sleep(0.02)
exit_code, rest = finish(process)
print(rest.strip())
assert exit_code == 0 and "result ok" in rest, (exit_code, rest)
