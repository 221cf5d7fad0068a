"""Where all threads are in the allocator, or wait there for one another, attach waits for a safe moment or gives up in time; it never hangs,
and the program allocates on.
"""
import time

from subjects import TARGETS, finish, started, tool

process = started(TARGETS, "allocates")
answers = []
for _ in range(6):
    begin = time.monotonic()
    done = tool("attach", "--wait", "1", process.pid)
    assert time.monotonic() - begin < 20 and done.returncode in (0, 4), done
    assert process.poll() is None, process.returncode
    answers.append(done.returncode)
    if done.returncode == 0:
        left = tool("detach", "--wait", "5", process.pid)
        assert left.returncode in (0, 4), left
        if left.returncode == 4:
            break
    else:
        assert "safe place" in done.stderr or "left as it was" in done.stderr, done.stderr
exit_code, rest = finish(process)
print(f"{answers.count(0)} attached, {answers.count(4)} refused; {rest.strip()}")
assert exit_code == 0 and "result ok" in rest, (exit_code, rest)
