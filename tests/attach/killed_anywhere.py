"""The injector is killed before and after each of its ptrace requests, then at random moments: the borrowed thread comes back by itself.

usage: killed_anywhere.py SUBJECT [RANDOM_KILLS [only]]     SUBJECT: threads, epoll, busy
"""
import pathlib
import random
import signal
import subprocess
import sys
import time

from subjects import BUILD, BUSY, ENVIRONMENT, STALLSCOPE, TARGETS, finish, started, tool, wait_for

KILLER = BUILD / "lib/libattach_killed.so"
subject = sys.argv[1]
random_kills = int(sys.argv[2]) if len(sys.argv) > 2 else 40
process = started(BUSY, 3600) if subject == "busy" else started(TARGETS, subject)
TASKS = pathlib.Path(f"/proc/{process.pid}/task")


def threads():
    """Of each thread its call's arguments, where it stands, and its signal mask; nothing of a call while it is in none. A call that was
    made again has another number.
    """
    found = {}
    for task in TASKS.iterdir():
        try:
            call = (task / "syscall").read_text().split()
            blocked = next(line for line in (task / "status").read_text().splitlines() if line.startswith("SigBlk"))
            if len(call) < 9:  # "running", or the stack and the place alone
                call = []
            elif subject == "epoll":  # which comes back each second, to be called through a hook or not: its stack is another one then
                del call[7]
            found[task.name] = (call[1:], blocked)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def used_seconds():
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def parked():
    found = threads()
    time.sleep(0.1)  # a call that is over by then is not the one that a thread waits in
    return found if all(call for call, _ in found.values()) and found == threads() else None


before = wait_for(parked, "all threads in a call") if subject != "busy" else threads()


def is_as_it_was():
    now = threads()
    return all(now.get(name) == was for name, was in before.items())


def check(what):
    assert process.poll() is None, (what, process.returncode)
    if subject != "busy":  # whose threads go on all the time; what it has computed is looked at in the end
        try:
            wait_for(is_as_it_was, "each thread as it was", 5)
        except AssertionError as failure:
            raise AssertionError(what, before, threads()) from failure


def settle(command):
    """Attached before a detach, detached before an attach, whatever the last one that was killed has done."""
    def done():
        result = tool(command, process.pid)
        words = {"attach": "recorded already", "detach": "nothing to detach"}[command]
        return result.returncode == 0 or words in result.stderr
    wait_for(done, f"a whole {command}", 40)


def killed(command, **environment):
    """Whether the injector was killed."""
    done = subprocess.run([STALLSCOPE, command, str(process.pid)], env={**ENVIRONMENT, "LD_PRELOAD": str(KILLER), **environment},
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 4, -signal.SIGKILL), done
    return done.returncode == -signal.SIGKILL


def killed_at_each_request():
    moments = {"attach": 0, "detach": 0}
    for command, opposite in (("attach", "detach"), ("detach", "attach")):
        for after in ({}, {"KILL_AFTER": "1"}):
            for number in range(1, 400):
                settle(opposite)
                if not killed(command, KILL_AT=str(number), **after):
                    break
                check(f"{command} killed {'after' if after else 'before'} request {number}")
                moments[command] += 1
    assert all(count > 20 for count in moments.values()), moments
    return moments


def killed_at_random(kills):
    """In the milliseconds from the first hold of a thread on."""
    generator = random.Random(7)
    dead = 0
    for turn in range(kills):
        command = ("attach", "detach")[turn % 2]
        settle("detach" if command == "attach" else "attach")
        dead += killed(command, KILL_IN_US=str(int(generator.uniform(0, 2500))))
        check(f"{command} killed at random, turn {turn}")
    return dead


kills = {"random": killed_at_random(random_kills)}
if len(sys.argv) <= 3:
    kills.update(killed_at_each_request())
print(f"{subject}: killed {kills}")

if subject != "busy":
    time.sleep(0.5)
    begin = used_seconds()
    time.sleep(1)
    used = used_seconds() - begin
    assert used < 0.3, f"something spins: {used} s of CPU time in 1 s"
exit_code, rest = finish(process)
print(rest.strip())
if subject == "epoll":
    # Between the stop, which is what makes EINTR of epoll_wait, and the next requests, which take it back.
    seen = int(rest.split("eintr ")[1].split(",")[0])
    assert "early 0" in rest and seen <= sum(kills.values()) / 3, rest
else:
    assert exit_code == 0 and ("result ok, eintr 0, early 0" in rest or subject == "threads"), (exit_code, rest)
