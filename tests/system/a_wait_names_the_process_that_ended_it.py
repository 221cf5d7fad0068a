"""A thread that waits for another process: the walk goes on in that process, whatever lies between the two. The producer sleeps
before it lets the consumer go on, so the consumer's steps are its sleep, with its name; live and offline."""
import json

from road import BUILD, FOLDER, tool

STEPS = 200
CHANNELS = ("pipe", "poll", "select", "unix", "epoll", "tcp", "eventfd", "semaphore", "named_semaphore", "barrier", "condition",
            "futex", "mutex", "robust", "rwlock")
LINE = "host.sleep"
# Processes without and with a streaming thread: read out of their memory by the collector, or telling it themselves.
RUNS = [(channel, []) for channel in CHANNELS] + [(channel, ["threads"]) for channel in ("epoll", "tcp", "semaphore", "eventfd")]
failures = []
for channel, more in RUNS:
    capture = FOLDER / f"{channel}{''.join(more)}.stallcap"
    done = tool("run", "--capture", capture, "--", BUILD / "bin/two_processes", channel, STEPS, *more)
    assert done.returncode == 0, (channel, done)
    report = json.loads(tool("budget", "--json", capture).stdout)
    consumer = [process for process in report["processes"] if process["steps"] > STEPS / 2]
    assert len(consumer) == 1, (channel, [process["steps"] for process in report["processes"]])
    lines = {entry["line"]: entry for entry in consumer[0]["lines"]} if isinstance(consumer[0]["lines"], list) \
        else consumer[0]["lines"]
    note = lines.get(LINE, {}).get("note", "")
    share = lines.get(LINE, {}).get("ns", 0) / consumer[0]["wall_ns"]
    print(f"{channel:16} {' '.join(more):8} {LINE} {100 * share:5.1f} %   {note}")
    if "producer[" not in note or share < 0.5:
        failures.append((channel, note, share, {name: entry for name, entry in lines.items() if entry.get("ns")}))
assert not failures, failures
