#!/usr/bin/env python3
"""SIGKILL at random moments: what was streamed and what is left in the memory make up all that was recorded; what a ring
that ran over lost is counted. One program hands waits to and fro; the other counts its waits itself, in a file that outlives it, and no
record of them may be missing.

usage: killed_process_test.py LIBRARY BUSY_WAITS COUNTED_WAITS OS_CALLS_H
"""
import os
import random
import struct
import sys
import tempfile
import time

import drain
from environment import Agent, wait_until
from recorded_calls_test import call_names, events


KILLS = 200
THREADS = 3  # of counted_waits


def check_kill(agent, collector, command, delay_s, counted_call=None):
    """(records streamed, recovered, unfinished, 1 where the program's own count was compared). With counted_call, a number, there must be
    as many of this call as command[1] counts."""
    before = len(collector.connections)
    process = agent.start(*command)
    process.stdout.readline()
    time.sleep(delay_s)
    process.kill()
    process.wait()
    connection = wait_until(lambda: len(collector.connections) > before and collector.connections[before], "a connection")
    assert connection.closed.wait(30), "the connection outlived the process"
    assert not connection.of_kind(drain.GOODBYE), "a killed process cannot say goodbye"
    memory = drain.SharedMemory(connection.memory_fds[0])
    assert memory.magic == 0x31304D4853535453 and memory.pid == process.pid

    # Ring indices per thread: streamed batches first, then what the memory holds from `drained` on.
    # A thread that filled its ring faster than it was emptied went on in a bigger one, and so has several numbers: which of them a
    # slot belongs to cannot be told by its tid.
    thread_of_tid, several = {}, set()
    for body in connection.of_kind(drain.INTERN):
        for field, value in drain.fields(body):
            if field == 4:
                thread = dict(drain.fields(value))
                if thread[2] in thread_of_tid:
                    several.add(thread[2])
                thread_of_tid[thread[2]] = thread[1]
    tids = [slot["tid"] for slot in memory.slots()]
    several.update(tid for tid in tids if tids.count(tid) > 1)
    streamed, lost = {}, {}
    for batch in connection.batches():
        thread = batch[1]
        first = batch.get(2, 0)
        assert first >= streamed.get(thread, 0), "records twice"
        lost[thread] = lost.get(thread, 0) + first - streamed.get(thread, 0)
        streamed[thread] = first + batch[3]
    recovered = unfinished = counted = 0
    for index, slot in enumerate(memory.slots()):
        thread = thread_of_tid.get(slot["tid"])
        sent = streamed.get(thread, 0)
        if slot["tid"] in several:
            sent = max(slot["drained"], min(sent, slot["head"]))
        # On a busy machine a ring may run over; then each gap between batches is in the thread's counter.
        assert slot["tid"] in several or slot["lost"] <= lost.get(thread, 0), (slot, lost)
        # A batch may have been sent and not yet marked; nothing may be marked and not sent.
        assert slot["drained"] <= sent <= slot["head"], (slot, sent)
        records = list(memory.records(index))
        complete = [record[0] - 1 for record in records]
        counted += sum(record[0] > sent and record[7] == counted_call for record in records)
        overwritten = max(slot["drained"], slot["head"] - memory.ring_records)
        missing = set(range(overwritten, slot["head"])) - set(complete)
        # Each thread was in the middle of one record at most.
        assert len(missing) <= 1, (slot, sorted(missing)[:5])
        recovered += len(complete)
        unfinished += len(missing)
    compared = counted_call is not None and not several
    if compared:
        with open(command[1], "rb") as file:
            truth = sum(struct.unpack(f"<{THREADS}q", file.read(8 * THREADS)))
        counted += sum(wait["call"] == counted_call for wait in events(connection)[0]) + sum(lost.values())
        # A wait is recorded before the program counts it; each thread may have been between the two.
        assert truth <= counted <= truth + THREADS, f"{truth} waits, {counted} of them recorded"
    return sum(streamed.values()), recovered, unfinished, compared


def main():
    library, busy_waits, counted_waits, calls_h = sys.argv[1:5]
    nanosleep = call_names(calls_h).index("nanosleep")
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(library, folder)
        for command, counted in (((busy_waits,), None), ((counted_waits, os.path.join(folder, "counts")), nanosleep)):
            collector = drain.Collector(agent.socket)
            found = [check_kill(agent, collector, command, chance.random() * 0.1, counted) for _ in range(KILLS)]
            collector.close()
            collector.release()
            streamed, recovered, unfinished, compared = map(sum, zip(*found))
            print(f"{os.path.basename(command[0])}, {KILLS} kills: {streamed} records streamed, {recovered} recovered from memory, "
                  f"{unfinished} in progress; compared with the program's own count: {compared}")
            assert streamed > 0 and recovered > 0 and (counted is None or compared > KILLS / 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
