"""Stacks off, on, off again by Control frames: waits have stacks only while they are on, and each crosses the wire once."""
import ctypes.util
import pathlib
import socket
import struct
import sys
import time

from road import BUILD, FOLDER, skip, start

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "safety"))
from drain import fields  # noqa: E402

if not ctypes.util.find_library("unwind-x86_64"):
    skip("libunwind-x86_64.so.8 (Debian's libunwind8) is not installed")


def control(stacks):
    body = bytes([0x3A, 2, 0x18, stacks])  # Frame.control { stacks }
    return struct.pack("<I", len(body)) + body


path = FOLDER / "collector.sock"
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(str(path))
listener.listen()
listener.settimeout(20)
program = start(BUILD / "bin/known_stack", 3, 2000,
                environment={"LD_PRELOAD": str(BUILD / "lib/libstallscope.so"), "STALLSCOPE_SOCKET": str(path)})
agent = None
buffer, introduced, modules = b"", [], []
with_stack = {0: 0, 1: 0}  # batches of waits that have a column of stacks, while off and on
batches = {0: 0, 1: 0}
phase, switched_at = 0, time.monotonic()
order = [(0, 1.0), (1, 1.5), (0, 1.0)]  # (stacks, seconds)
connections = []
step, settled = 0, time.monotonic() + 0.3
while step < len(order):
    if agent is None or agent.fileno() < 0:
        agent, _ = listener.accept()
        agent.settimeout(0.1)
        connections.append(agent)
        buffer = b""
    try:
        got = agent.recv(1 << 16)
        if not got:
            agent = None
            continue
        buffer += got
    except TimeoutError:
        pass
    while len(buffer) >= 4 and len(buffer) - 4 >= struct.unpack_from("<I", buffer)[0]:
        length = struct.unpack_from("<I", buffer)[0]
        frame, buffer = buffer[4:4 + length], buffer[4 + length:]
        for number, body in fields(frame):
            if number == 3:  # Intern
                for kind, entry in fields(body):
                    values = dict(fields(entry))
                    if kind == 6:
                        introduced.append(values[1])
                    elif kind == 11:
                        modules.append((values[1], values.get(8, 0)))
            elif number == 4 and time.monotonic() > settled:  # Batch
                for kind, group in fields(body):
                    if kind == 5:  # Waits
                        batches[phase] += 1
                        with_stack[phase] += any(column == 8 for column, _ in fields(group))
    if time.monotonic() - switched_at > order[step][1]:
        step += 1
        if step < len(order):
            phase = order[step][0]
            agent.sendall(control(phase))
            switched_at, settled = time.monotonic(), time.monotonic() + 0.3
program.kill()
print(f"{batches} batches of waits, {with_stack} with stacks, {len(introduced)} stacks, {len(modules)} modules")
assert batches[0] >= 5 and batches[1] >= 5, batches
assert with_stack[0] == 0, "a wait has a stack while they are off"
assert with_stack[1] >= batches[1] / 2, (with_stack, batches)
assert len(connections) > 1 or len(introduced) == len(set(introduced)), "a stack was introduced twice"
assert len(connections) > 1 or len(modules) == len(set(modules)), "a module was introduced twice"
assert introduced and modules
