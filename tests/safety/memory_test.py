#!/usr/bin/env python3
"""The agent's memory in the program: what is mapped and what a core file would hold; slots outlive a kernel that refuses to say who is
alive; how long a collector that does not listen may hold up a program's end.

usage: memory_test.py LIBRARY BUSY_WAITS REFUSED_QUESTIONS
"""
import subprocess
import sys
import tempfile
import time

import drain
from environment import Agent, wait_until
from recorded_calls_test import events


def mappings(pid):
    """(offset, bytes, permissions, resident KB, flags) of each mapping of the agent's memfd."""
    found = []
    for line in open(f"/proc/{pid}/smaps"):
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            begin, end = (int(number, 16) for number in words[0].split("-"))
            ours = "/memfd:stallscope" in line
            if ours:
                found.append(dict(offset=int(words[2], 16), bytes=end - begin, permissions=words[1], resident_kb=0, flags=()))
        elif ours and words[0] == "Rss:":
            found[-1]["resident_kb"] = int(words[1])
        elif ours and words[0] == "VmFlags:":
            found[-1]["flags"] = words[1:]
    return found


def check_mapped(agent, program, _):
    collector = drain.Collector(agent.socket)
    process = agent.start(program)
    process.stdout.readline()
    connection = wait_until(lambda: collector.connections and collector.connections[0], "a connection")
    wait_until(lambda: connection.records() > 100, "records")
    memory = drain.SharedMemory(connection.memory_fds[0])
    found = mappings(process.pid)
    process.kill()
    process.communicate()
    assert found, "the memfd is mapped"
    # Who was blocked in what belongs into a core file, old records do not.
    for mapping in found:
        assert ("dd" in mapping["flags"]) == (mapping["offset"] >= memory.strings_at), mapping
    assert found[0]["offset"] == 0 and found[0]["permissions"] == "rw-s", found
    writable = sum(mapping["bytes"] for mapping in found if mapping["permissions"] == "rw-s")
    # A thread that the collector cannot keep up with goes on in a large ring, which counts by itself.
    large = memory.big_records * 64 * sum(memory.slot(index)["big"] != 0 for index in range(memory.slots_used))
    assert writable - large < 8 << 20, f"{writable} bytes are writable, which mlockall would fill; {large} of them in large rings"
    print(f"{writable >> 10} KB writable, {sum(mapping['resident_kb'] for mapping in found)} KB resident")
    collector.close()
    collector.release()


def check_refused_questions(agent, _, program):
    collector = drain.Collector(agent.socket)
    process = agent.start(program)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "done\n", ""), (process.returncode, out, err)
    connection = collector.connections[0]
    assert connection.closed.wait(30)
    waits, _ = events(connection)
    late = [wait for wait in waits if 2_900_000 <= wait["duration"] < 1_000_000_000 and wait["timeout"] == 3_000_001]
    assert len(late) == 5, f"{len(late)} of the 5 waits after the pause were received"
    collector.close()
    collector.release()


def check_deaf_collector(agent, program, _):
    """The goodbye waits for a collector that does not read, and not for long (agent/README.md)."""
    def seconds(**options):
        begin = time.monotonic()
        done = subprocess.run([program, "20000"], capture_output=True, text=True, timeout=60, **options)
        assert done.returncode == 0, done
        return time.monotonic() - begin
    plain = min(seconds() for _ in range(3))
    collector = drain.Collector(agent.socket, reads=False)
    deaf = min(seconds(env=agent.environment(STALLSCOPE_WAIT_THRESHOLD_NS="0")) for _ in range(3))
    print(f"plain {plain * 1e3:.0f} ms, with a deaf collector {deaf * 1e3:.0f} ms")
    # 0.2 s by contract; the rest is for a loaded machine and the recording itself.
    assert deaf < plain * 3 + 0.2 + 0.5, (plain, deaf)
    collector.close()
    collector.release()


def main():
    library, busy_waits, refused_questions = sys.argv[1:4]
    for check in (check_mapped, check_refused_questions, check_deaf_collector):
        with tempfile.TemporaryDirectory() as folder:
            check(Agent(library, folder), busy_waits, refused_questions)
            print(f"{check.__name__}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
