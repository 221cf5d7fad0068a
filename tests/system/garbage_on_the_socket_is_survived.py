"""Garbage, half frames and sudden ends on the socket: the collector goes on and records the next program completely."""
import os
import struct

from road import DEFAULT_SOCKET, FOLDER, TOKEN_LOOP, connect, dump, end, start_collector, stderr_of, tool

capture = FOLDER / "after.stallcap"
collector = start_collector("--capture", capture)
for garbage in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(100000), struct.pack("<I", 0xFFFFFFFF) + b"x" * 100,
                struct.pack("<I", 1000) + b"short", struct.pack("<I", 4) + b"\xff\xff\xff\xff", struct.pack("<I", 0) * 1000):
    link = connect(DEFAULT_SOCKET)
    try:
        link.sendall(garbage)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it may hang up before the end
    link.close()
assert collector.poll() is None, stderr_of(collector)
done = tool("run", "--collector", DEFAULT_SOCKET, "--", TOKEN_LOOP, 30)
assert done.returncode == 0, done.stderr
assert end(collector) == 0, stderr_of(collector)
markers = [event for event in dump(capture) if event.get("range") == "step_marker"]
assert len(markers) == 30, len(markers)
