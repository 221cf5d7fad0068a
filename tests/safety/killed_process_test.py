#!/usr/bin/env python3
"""SIGKILL at random moments: what was streamed and what is left in the memory make up all that was recorded; what a ring
that ran over lost is counted.

usage: killed_process_test.py LIBRARY BUSY_WAITS
"""
import random
import sys
import tempfile
import time

import drain
from environment import Agent, wait_until


KILLS = 200


def check_kill(agent, collector, program, delay_s):
    before = len(collector.connections)
    process = agent.start(program)
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
    recovered = unfinished = 0
    for index, slot in enumerate(memory.slots()):
        thread = thread_of_tid.get(slot["tid"])
        sent = streamed.get(thread, 0)
        if slot["tid"] in several:
            sent = max(slot["drained"], min(sent, slot["head"]))
        # On a busy machine a ring may run over; then each gap between batches is in the thread's counter.
        assert slot["tid"] in several or slot["lost"] <= lost.get(thread, 0), (slot, lost)
        # A batch may have been sent and not yet marked; nothing may be marked and not sent.
        assert slot["drained"] <= sent <= slot["head"], (slot, sent)
        complete = [record[0] - 1 for record in memory.records(index)]
        overwritten = max(slot["drained"], slot["head"] - memory.ring_records)
        missing = set(range(overwritten, slot["head"])) - set(complete)
        # Each thread was in the middle of one record at most.
        assert len(missing) <= 1, (slot, sorted(missing)[:5])
        recovered += len(complete)
        unfinished += len(missing)
    return sum(streamed.values()), recovered, unfinished


def main():
    library, program = sys.argv[1:3]
    chance = random.Random(1)
    streamed = recovered = unfinished = 0
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(library, folder)
        collector = drain.Collector(agent.socket)
        for _ in range(KILLS):
            a, b, c = check_kill(agent, collector, program, chance.random() * 0.1)
            streamed, recovered, unfinished = streamed + a, recovered + b, unfinished + c
        collector.release()
    print(f"{KILLS} kills: {streamed} records streamed, {recovered} recovered from memory, {unfinished} in progress")
    assert streamed > 0 and recovered > 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
