#!/usr/bin/env python3
"""As many records as there were waits, where that is hard: in a signal handler at 20 kHz, in 10,000 short threads (whose places are used
again), in 2,000 threads that live at once.

usage: recorded_counts_test.py LIBRARY OS_CALLS_H SIGNAL_STORM SHORT_THREADS MANY_THREADS
"""
import os
import sys
import tempfile

import drain
from environment import Agent
from recorded_calls_test import call_names, events


def record(agent, *command):
    """(waits received, events lost, the shared memory) of a program's run."""
    collector = drain.Collector(agent.socket)
    process = agent.start(*command)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and err == "", (process.returncode, out, err)
    assert len(collector.connections) == 1, "one process, one connection"
    connection = collector.connections[0]
    assert connection.closed.wait(30)
    health = connection.of_kind(drain.HEALTH)
    lost = dict(drain.fields(health[-1])).get(3, 0) if health else 0
    waits, memory = events(connection)[0], drain.SharedMemory(connection.memory_fds[0])
    collector.close()
    collector.release()
    return waits, lost, memory


def check_signal_storm(agent, calls, program, folder):
    posted_file = os.path.join(folder, "posted")
    waits, lost, _ = record(agent, program, posted_file)
    posted = int(open(posted_file).read())
    found = sum(wait["call"] == calls.index("sem_timedwait") for wait in waits)
    print(f"{posted} waits in a signal handler, {found} recorded, {lost} events lost")
    assert posted >= 4000 and found <= posted <= found + lost, (posted, found, lost)
    return lost


def check_short_threads(agent, calls, program):
    waits, lost, memory = record(agent, program)
    found = sum(wait["call"] == calls.index("nanosleep") for wait in waits)
    threads = len({wait["thread"] for wait in waits if wait["call"] == calls.index("nanosleep")})
    print(f"10,000 short threads: {found} waits of {threads} threads, {memory.slots_used} places, {lost} events lost")
    missed = lost + memory.counter(0)
    assert found == threads and found <= 10_000 <= found + missed, (found, threads, lost, memory.counter(0))
    assert memory.slots_used < 2000, f"{memory.slots_used} places for threads of which 20 lived at once"
    return missed


def check_many_threads(agent, calls, program):
    waits, lost, memory = record(agent, program)
    threads = len({wait["thread"] for wait in waits if wait["call"] == calls.index("pthread_cond_wait")})
    print(f"2,000 live threads: {threads} of them with waits, {memory.slots_used} places, {memory.counter(0)} without one, {lost} lost")
    missed = lost + memory.counter(0)
    assert threads + missed >= 2000, (threads, missed)
    return missed


TRIES = 3  # a machine that stops for half a second loses some; each loss must be counted


def main():
    library, calls_h, signal_storm, short_threads, many_threads = sys.argv[1:6]
    calls = call_names(calls_h)
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(library, folder)
        for check, *more in ((check_signal_storm, signal_storm, folder), (check_short_threads, short_threads),
                             (check_many_threads, many_threads)):
            if all(check(agent, calls, *more) != 0 for _ in range(TRIES)):
                print(f"{check.__name__}: records are lost each time")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
