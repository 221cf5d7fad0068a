"""A thread that waits for another process: the line of the wait names that process, whatever lies between the two; live and offline."""
import json

from road import BUILD, FOLDER, tool

STEPS = 200
CHANNELS = {
    "pipe": "host.ipc", "poll": "host.ipc", "select": "host.ipc", "unix": "host.ipc", "epoll": "host.ipc", "tcp": "host.ipc",
    "eventfd": "host.ipc", "semaphore": "host.wait_thread", "named_semaphore": "host.wait_thread", "barrier": "host.wait_thread",
    "condition": "host.wait_thread", "futex": "host.wait_thread", "mutex": "host.lock", "robust": "host.lock", "rwlock": "host.lock",
}
# Processes without and with a streaming thread: read out of their memory by the collector, or telling it themselves.
RUNS = [(channel, []) for channel in CHANNELS] + [(channel, ["threads"]) for channel in ("epoll", "tcp", "semaphore", "eventfd")]
failures = []
for channel, more in RUNS:
    line = CHANNELS[channel]
    capture = FOLDER / f"{channel}{''.join(more)}.stallcap"
    done = tool("run", "--capture", capture, "--", BUILD / "bin/two_processes", channel, STEPS, *more)
    assert done.returncode == 0, (channel, done)
    report = json.loads(tool("budget", "--json", capture).stdout)
    consumer = [process for process in report["processes"] if process["steps"] > STEPS / 2]
    assert len(consumer) == 1, (channel, [process["steps"] for process in report["processes"]])
    lines = {entry["line"]: entry for entry in consumer[0]["lines"]} if isinstance(consumer[0]["lines"], list) \
        else consumer[0]["lines"]
    note = lines.get(line, {}).get("note", "")
    print(f"{channel:16} {' '.join(more):8} {line:17} {note}")
    if "producer[" not in note:
        failures.append((channel, line, note, {name: entry for name, entry in lines.items() if entry.get("ns")}))
assert not failures, failures
