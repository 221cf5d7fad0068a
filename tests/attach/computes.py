"""Where no thread ever stands still, attach gives up in time, and the program is what it was."""
import time

from subjects import TARGETS, finish, refused, started

process = started(TARGETS, "computes")
begin = time.monotonic()
print(refused(process.pid, "stood still", "left as it was", options=("--wait", "1")))
assert time.monotonic() - begin < 20
exit_code, rest = finish(process)
assert exit_code == 0 and "result ok" in rest, (exit_code, rest)
