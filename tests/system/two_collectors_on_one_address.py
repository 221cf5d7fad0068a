"""A second collector on a taken address: one line that names the first, exit code 4; the first goes on."""
import signal

from road import DEFAULT_SOCKET, TOKEN_LOOP, end, one_line, start_collector, tool

first = start_collector()
second = tool("collect")
assert second.returncode == 4, second
one_line(second.stderr, str(DEFAULT_SOCKET), str(first.pid))
assert tool("run", "--collector", DEFAULT_SOCKET, "--", TOKEN_LOOP, 5).returncode == 0
assert end(first) == 0

# The file of a killed one is in nobody's way.
killed = start_collector()
end(killed, signal.SIGKILL)
assert DEFAULT_SOCKET.exists()
assert end(start_collector()) == 0
