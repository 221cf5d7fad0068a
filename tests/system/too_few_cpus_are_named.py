"""More threads than CPUs: the budget says so, with how many wanted to run and how long a runnable thread stood still."""
import json
import os
import re

from road import BUILD, FOLDER, tool

cpus = len(os.sched_getaffinity(0))
if cpus > 16:
    from road import skip
    skip("too many CPUs to fill them for a test")
capture = FOLDER / "busy.stallcap"
done = tool("run", "--capture", capture, "--", BUILD / "bin/busy_threads", 3 * cpus, 3)
assert done.returncode == 0, done
processes = json.loads(tool("budget", "--json", capture).stdout)["processes"]
notices = [notice for process in processes for notice in process["notices"] if "CPU" in notice]
print(notices)
found = re.search(r"CPU oversubscription: on average ([\d.]+) threads wanted to run on ([\d.]+) CPUs.*; a runnable thread stood still "
                  r"(\d+) % of its time, (\d+) involuntary switches a second", "\n".join(notices))
assert found, processes
assert float(found[1]) > 2 * cpus and float(found[2]) <= cpus and int(found[3]) > 40 and int(found[4]) > 0, found[0]
# Live, the tool prints the same line at the end.
assert "CPU oversubscription: " in done.stderr, done.stderr

# One thread that sleeps most of the time is no oversubscription, whatever others do to the machine.
capture = FOLDER / "calm.stallcap"
assert tool("run", "--capture", capture, "--", BUILD / "bin/token_loop", 200).returncode == 0
processes = json.loads(tool("budget", "--json", capture).stdout)["processes"]
assert not any("oversubscription" in notice for process in processes for notice in process["notices"]), processes
