"""Attach and detach while eight threads load libraries, make the first call through each of their slots and unload them again."""
from subjects import BUILD, TARGETS, Stops, attach, detach, finish, started

process = started(TARGETS, "binds", BUILD / "lib/libattach_plugin.so")
stops = Stops()
for _ in range(40):
    stops.add(attach(process.pid))
    stops.add(detach(process.pid))
exit_code, rest = finish(process)
print(rest.strip(), stops.line())
assert exit_code == 0 and "result ok" in rest, (exit_code, rest)
