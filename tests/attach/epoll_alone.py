"""A program whose only thread waits in epoll_wait, which the kernel does not restart, sees no EINTR and no early end."""
from subjects import TARGETS, Stops, attach, cycle, finish, started

process = started(TARGETS, "epoll")
stops = Stops()
document = attach(process.pid)
assert document["borrowed_call"] == "epoll_wait" and not document["own_thread"] and not document["streaming"], document
from subjects import detach  # noqa: E402
detach(process.pid)
cycle(process.pid, 40, stops)
exit_code, rest = finish(process)
print(rest.strip(), stops.line())
assert exit_code == 0 and "eintr 0, early 0" in rest, (exit_code, rest)
