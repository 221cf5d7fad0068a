"""SIGKILL at 200 random moments: the collector has every wait that the program had counted as finished, and none that it had not begun."""
import collections
import json
import random
import re
import struct
import subprocess
import time

from road import BUILD, FOLDER, STALLSCOPE, end, start, start_collector, tool, wait_for

KILLS = 200
THREADS = 3
COUNTED_WAITS = BUILD / "safety/safety_counted_waits"

capture, counts = FOLDER / "killed.stallcap", FOLDER / "counts"
collector = start_collector("--capture", capture)
chance = random.Random(5)
truths = {}
for _ in range(KILLS):
    process = start(COUNTED_WAITS, counts, stdout=subprocess.PIPE, environment={
        "LD_PRELOAD": str(BUILD / "lib/libstallscope.so"), "STALLSCOPE_WAIT_THRESHOLD_NS": "0"})
    assert process.stdout.readline() == b"started\n"
    time.sleep(chance.random() * 0.03)
    process.kill()
    process.wait()
    process.stdout.close()
    truths[process.pid] = sum(struct.unpack(f"<{THREADS}q", counts.read_bytes()[:8 * THREADS]))
wait_for(lambda: not any(row["live"] for row in json.loads(tool("ps", "--json").stdout)["processes"]), "the end of all processes")
end(collector)
found = collections.Counter()
lines = subprocess.Popen([STALLSCOPE, "dump", capture, "--format", "json"], stdout=subprocess.PIPE, text=True)
for line in lines.stdout:
    if '"name":"nanosleep"' in line and '"kind":"wait"' in line:
        found[int(re.search(r'"pid":(\d+)', line)[1])] += 1
assert lines.wait() == 0
assert len(truths) == KILLS, "a pid came twice"
wrong = {pid: (truth, found[pid]) for pid, truth in truths.items() if not truth <= found[pid] <= truth + THREADS}
print(f"{sum(truths.values())} waits in {KILLS} killed programs, {sum(found.values())} in the capture")
assert not wrong, wrong
assert sum(truths.values()) > 10_000
