"""A write that is too short to be recorded as a call still says whom it woke: through named pipes, unix sockets of all kinds and
loopback TCP, between processes and within one. The producer sleeps before it writes, so the consumer's steps are its sleep. What
is written to a log file is recorded only until it is clear that it is one."""
import json
import sys

from road import BUILD, FOLDER, dump, tool

STEPS = 100
# Named pipes: one end each, both ends each, opened as fopen opens. Datagrams: a pair, and sent to a name by each of the calls.
CHANNELS = ("fifo", "fifo_rdwr", "fifo_created", "dgram", "dgram_to", "dgram_abstract", "dgram_connected", "dgram_msg",
            "dgram_mmsg", "dgram_epoll", "seqpacket", "seqpacket_listening")
RUNS = [(channel, []) for channel in CHANNELS] + \
       [(channel, ["within"]) for channel in ("pipe", "unix", "epoll", "tcp", "eventfd", *CHANNELS)] + \
       [(channel, ["threads"]) for channel in ("dgram_to", "tcp")]
MOST_IN_DOUBT = 1000  # writes to a descriptor of which nobody knows what it is
LINE = "host.sleep"
ABOVE_ANY_WRITE = {"STALLSCOPE_WAIT_THRESHOLD_NS": "200000"}  # and below every wait

failures = []
for channel, more, steps in [(*run, STEPS) for run in RUNS] + [("fifo_created", ["threads"], 5 * MOST_IN_DOUBT // 2)]:
    capture = FOLDER / f"{channel}{''.join(more)}.stallcap"
    done = tool("run", "--capture", capture, "--", BUILD / "bin/two_processes", channel, steps, *more,
                environment=ABOVE_ANY_WRITE)
    assert done.returncode == 0, (channel, done)
    report = json.loads(tool("budget", "--json", capture).stdout)
    consumer = [process for process in report["processes"] if process["steps"] > steps / 2]
    assert len(consumer) == 1, (channel, [process["steps"] for process in report["processes"]])
    lines = consumer[0]["lines"]
    note = lines.get(LINE, {}).get("note") or ""
    share = lines.get(LINE, {}).get("ns", 0) / consumer[0]["wall_ns"]
    print(f"{channel:20} {' '.join(more):8} {LINE} {100 * share:5.1f} %   {note}")
    # Within a process its own thread is named, else the other process.
    if ("usleep, producer" if "within" in more else "producer[") not in note or share < 0.5:
        failures.append((channel, more, note, share, {name: entry for name, entry in lines.items() if entry.get("ns")}))
assert not failures, failures

WRITES_A_LOG = """
import os, sys, threading, time
if "threads" in sys.argv: threading.Thread(target=time.sleep, args=(0.5,)).start()
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for _ in range(5000): os.write(log, b"x")
"""
for more in ([], ["threads"]):
    capture = FOLDER / f"log{''.join(more)}.stallcap"
    done = tool("run", "--capture", capture, "--", sys.executable, "-c", WRITES_A_LOG, FOLDER / "log", *more,
                environment=ABOVE_ANY_WRITE)
    assert done.returncode == 0, done
    told = sum(event.get("kind") == "wake" and event.get("name") == "write" for event in dump(capture))
    print(f"log file {' '.join(more):8} {told} of 5000 writes recorded")
    assert 0 < told <= MOST_IN_DOUBT + 50, (more, told)
