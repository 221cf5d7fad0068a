#!/usr/bin/env python3
"""The collector comes late, goes, comes back, sends garbage, does not read: the program goes on, and each loss is counted.

usage: collector_trouble_test.py LIBRARY BUSY_WAITS
"""
import os
import struct
import sys
import tempfile

import drain
from environment import Agent, wait_until


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out.startswith("done "), (process.returncode, out, err)
    assert err == "", err


def check_comes_late(agent, program):
    process = agent.start(program)
    process.stdout.readline()
    collector = drain.Collector(agent.socket)
    connection = wait_until(lambda: collector.connections and collector.connections[0], "the agent finds a late collector")
    wait_until(lambda: connection.records() > 100, "records from it")
    assert connection.hello().get(13) == 1, "hello says streaming"
    process.kill()
    process.communicate()
    collector.close()
    collector.release()


def check_restarts(agent, program):
    first = drain.Collector(agent.socket)
    process = agent.start(program)
    process.stdout.readline()
    wait_until(lambda: first.connections and first.connections[0].records() > 100, "records")
    first.close(hang_up=True)
    second = drain.Collector(agent.socket)
    connection = wait_until(lambda: second.connections and second.connections[0], "a second hello")
    wait_until(lambda: connection.records() > 100, "records again")
    old, new = first.connections[0].hello(), connection.hello()
    for field in (4, 5, 6, 11):
        assert old[field] == new[field], "the identity stays"
    assert new.get(12, 0) >= 1, "hello counts the reconnect"
    # Everything is introduced again before it is used.
    known_threads, known_objects = set(), {0}
    for kind, body in list(connection.frames):
        if kind == drain.INTERN:
            for field, value in drain.fields(body):
                if field == 4:
                    known_threads.add(dict(drain.fields(value))[1])
                if field == 2:
                    known_objects.add(dict(drain.fields(value))[1])
        if kind == drain.BATCH:
            batch = dict(drain.fields(body))
            assert batch[1] in known_threads, "a thread that was not introduced"
            for group in (5, 6):
                objects = dict(drain.fields(batch[group])).get(4 if group == 5 else 3, b"") if group in batch else b""
                at = 0
                while at < len(objects):
                    number, at = drain.varint(objects, at)
                    assert number in known_objects, "an object that was not introduced"
    process.kill()
    process.communicate()
    second.close()
    first.release()
    second.release()


def check_hostile(agent, program):
    for answer in (b"\xff" * 64, struct.pack("<I", 0xFFFFFFFF), struct.pack("<I", 5) + b"\x3a\xff\xff\xff\xff" * 3,
                   os.urandom(5000), struct.pack("<I", 0) * 1000):
        collector = drain.Collector(agent.socket)
        process = agent.start(program, "20000")
        connection = wait_until(lambda: collector.connections and collector.connections[0], "a connection")
        try:
            connection.socket.sendall(answer)
        except OSError:
            pass  # the agent hung up on us, as it may
        finish(process)
        collector.close()
        collector.release()


def check_level_change(agent, program):
    collector = drain.Collector(agent.socket)
    process = agent.start(program)
    process.stdout.readline()
    connection = wait_until(lambda: collector.connections and collector.connections[0], "a connection")
    wait_until(lambda: connection.records() > 0, "records")
    connection.socket.sendall(struct.pack("<I", 4) + b"\x3a\x02\x08\x02")  # Frame{control{level: kernels}}
    wait_until(lambda: any(dict(drain.fields(body)).get(1) == 1 and dict(drain.fields(body)).get(3) == 2
                           for body in connection.of_kind(drain.STATE)), "the acknowledgement")
    memory = drain.SharedMemory(connection.memory_fds[0])
    assert memory.control & 0xFF == 2
    connection.socket.sendall(struct.pack("<I", 4) + b"\x3a\x02\x38\x01")  # detach
    wait_until(lambda: connection.of_kind(drain.GOODBYE), "goodbye after detach")
    assert struct.unpack_from("<I", memory.map, 104)[0] & 0x100 == 0, "recording is off"
    assert process.poll() is None, "and the program runs on"
    process.kill()
    process.communicate()
    collector.close()
    collector.release()


def check_deaf_collector(agent, program):
    """Never reads: the rings overflow, what is lost is counted exactly, the program ends as ever."""
    collector = drain.Collector(agent.socket, reads=False)
    process = agent.start(program, "400000")
    finish(process)
    collector.close()
    collector.release()


def check_goodbye(agent, program):
    collector = drain.Collector(agent.socket)
    finish(agent.start(program, "20000"))
    connection = collector.connections[0]
    assert connection.closed.wait(30)
    assert len(connection.of_kind(drain.GOODBYE)) == 1
    health = dict(drain.fields(connection.of_kind(drain.HEALTH)[-1]))
    # The last counters go out right before goodbye: received and lost make up all that was recorded.
    assert connection.records() + health.get(3, 0) == health[2], (connection.records(), health)
    print(f"{connection.records()} records, {health.get(3, 0)} lost, {connection.bytes} bytes: {connection.bytes / connection.records():.2f} bytes an event")
    assert connection.bytes / connection.records() <= 10
    collector.close()
    collector.release()


def main():
    library, program = sys.argv[1:3]
    for check in (check_comes_late, check_restarts, check_hostile, check_level_change, check_deaf_collector, check_goodbye):
        with tempfile.TemporaryDirectory() as folder:
            check(Agent(library, folder), program)
            print(f"{check.__name__}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
