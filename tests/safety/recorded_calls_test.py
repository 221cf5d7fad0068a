#!/usr/bin/env python3
"""What the hooks record: each wait once with its call and object, each with the wake-up that ended it; a forked child's in its own name.

usage: recorded_calls_test.py LIBRARY EACH_WAIT FORKS_AND_WAITS OS_CALLS_H MODERN_WAITS
"""
import re
import sys
import tempfile

import drain
from environment import Agent, wait_until


CHILD_WAITS = 13


def call_names(path):
    return re.findall(r'X\(k\w+, "(\w+)", k', open(path).read())


def packed(data, signed=False):
    at, values = 0, []
    while at < len(data):
        value, at = drain.varint(data, at)
        values.append((value >> 1) ^ -(value & 1) if signed else value)
    return values


def events(connection):
    """(waits, wakes) as dicts with absolute times and object values, of a whole connection."""
    objects, waits, wakes = {0: 0}, [], []
    for kind, body in connection.frames:
        if kind == drain.INTERN:
            for field, value in drain.fields(body):
                if field == 2:
                    entry = dict(drain.fields(value))
                    objects[entry[1]] = int.from_bytes(entry[2], "little")
        if kind != drain.BATCH:
            continue
        batch = dict(drain.fields(body))
        for group, out in ((5, waits), (6, wakes)):
            if group not in batch:
                continue
            columns = dict(drain.fields(batch[group]))
            begins, now = [], batch[4]
            for delta in packed(columns[1], signed=True):
                now += delta
                begins.append(now)
            zeros = [0] * len(begins)

            def column(number, signed=False):
                values = packed(columns[number], signed) if number in columns else zeros
                return values * len(begins) if len(values) == 1 else values  # one element: the same for all
            if group == 5:
                rows = zip(begins, column(2), column(3), column(4), column(5, True), column(6), column(7))
                out += [dict(begin=b, duration=d, call=c, object=objects[o], result=r, count=n, timeout=t, thread=batch[1])
                        for b, d, c, o, r, n, t in rows]
            else:
                rows = zip(begins, column(2), column(3), column(5))
                out += [dict(begin=b, call=c, object=objects[o], fd=f, thread=batch[1]) for b, c, o, f in rows]
    return waits, wakes


def check_waits(agent, program, calls):
    collector = drain.Collector(agent.socket)
    process = agent.start(program, threshold_ns=1000)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == "", (process.returncode, out, err)
    # A process that forks comes back on a new connection; its children are processes of their own.
    own = [connection for connection in collector.connections if connection.hello()[5] == process.pid]
    waits, wakes = [], []
    for connection in own:
        assert connection.closed.wait(30)
        for total, found in zip((waits, wakes), events(connection)):
            total += found
    numbers = {name: number for number, name in enumerate(calls)}
    for line in out.splitlines():
        name, object_value, woken = line.split()
        object_value = int(object_value)
        # Others may wait in the same call for the same object; ours lasted at least 2 ms. A storm of yields is cut every 1 ms or so.
        shortest_ns = 200_000 if name == "sched_yield" else 1_500_000
        found = [wait for wait in waits if wait["call"] == numbers[name] and wait["duration"] >= shortest_ns
                 and (object_value == 0 or wait["object"] == object_value)]
        assert found, f"{name}: no wait of it on {object_value:#x} was recorded"
        if name == "sched_yield":
            assert max(wait["count"] for wait in found) > 100, f"{name}: a storm is one record with a count"
        if name.endswith("join") or name.endswith("join_np"):
            assert any(wait["count"] > 0 for wait in found), f"{name}: whose end it waited for is not recorded"
        if woken == "1":
            assert any(wake["object"] == wait["object"] and wake["thread"] != wait["thread"] and
                       wait["begin"] < wake["begin"] <= wait["begin"] + wait["duration"]
                       for wait in found for wake in wakes), f"{name}: nothing is recorded that woke it"
    print(f"{len(waits)} waits, {len(wakes)} wakes")
    collector.close()
    collector.release()
    return out, waits, numbers


def check_each_wait(agent, program, calls):
    out, waits, numbers = check_waits(agent, program, calls)
    assert len(out.splitlines()) >= 50
    timed = [wait for wait in waits if wait["call"] == numbers["pthread_cond_timedwait"] and wait["duration"] >= 1_500_000]
    assert 50e9 < timed[0]["timeout"] < 61e9, timed


def check_modern_waits(agent, program, calls):
    out, _, _ = check_waits(agent, program, calls)
    assert len(out.splitlines()) == 5, out


def check_fork(agent, program, calls):
    collector = drain.Collector(agent.socket)
    process = agent.start(program, threshold_ns=1000)
    out, _ = process.communicate(timeout=60)
    parent, child = map(int, out.split())
    wait_until(lambda: len(collector.connections) == 2 and all(c.closed.is_set() for c in collector.connections), "two ends")
    by_pid = {connection.hello()[5]: connection for connection in collector.connections}
    assert set(by_pid) == {parent, child}
    assert by_pid[child].hello()[7] == parent, "the parent's pid"
    assert by_pid[child].hello()[6] >= by_pid[parent].hello()[6], "its own start"
    # One thread each, so no streaming thread: the records lie in the two memories.
    poll = calls.index("poll")
    durations = {pid: [record[2] for record in memory.records(0) if record[7] == poll]
                 for pid, memory in ((pid, drain.SharedMemory(c.memory_fds[0])) for pid, c in by_pid.items())}
    assert len(durations[parent]) == 2, "the parent's two polls and none of the child's"
    assert 5 <= len(durations[child]) <= 10, durations
    # What the child waited for before it was clear that it stays is counted: CHILD_WAITS is Counter::kChildWaits of proto/wire/shm.h.
    missed = drain.SharedMemory(by_pid[child].memory_fds[0]).counter(CHILD_WAITS)
    assert len(durations[child]) + missed == 10, (durations, missed)
    for connection in collector.connections:
        assert connection.hello().get(13, 0) == 0 and len(connection.of_kind(drain.GOODBYE)) == 1
    collector.close()
    collector.release()


def main():
    library, each_wait, forks_and_waits, calls_h, modern_waits = sys.argv[1:6]
    calls = call_names(calls_h)
    for check, program in ((check_each_wait, each_wait), (check_modern_waits, modern_waits), (check_fork, forks_and_waits)):
        with tempfile.TemporaryDirectory() as folder:
            check(Agent(library, folder), program, calls)
            print(f"{check.__name__}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
