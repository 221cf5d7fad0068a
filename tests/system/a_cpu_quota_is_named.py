"""A cgroup's CPU quota that stops the program is named, with how often and for how long."""
import json
import os
import pathlib
import re

from road import BUILD, FOLDER, skip, tool

root = pathlib.Path("/sys/fs/cgroup")
group = None
for parent, quota in ((root / "cpu", ("cpu.cfs_quota_us", "10000")), (root, ("cpu.max", "10000 100000"))):
    candidate = parent / f"stallscope-test-{os.getpid()}"
    try:
        candidate.mkdir()
    except OSError:
        continue
    try:
        (candidate / quota[0]).write_text(quota[1])
    except OSError:
        candidate.rmdir()
        continue
    group = candidate
    break
if group is None:
    skip("no cgroup with a CPU quota can be made here")
try:
    capture = FOLDER / "quota.stallcap"
    command = f"echo $$ > {group}/cgroup.procs && exec {BUILD}/bin/busy_threads 2 4"
    done = tool("run", "--capture", capture, "--", "sh", "-c", command)
    if "Permission denied" in done.stderr:
        skip("a process cannot be moved into another cgroup here")
    assert done.returncode == 0, done
    processes = json.loads(tool("budget", "--json", capture).stdout)["processes"]
finally:
    group.rmdir()
notices = "\n".join(notice for process in processes for notice in process["notices"])
print(notices)
found = re.search(r"CPU quota: the cgroup stopped this process (\d+) times, for (\d+) ms \(quota 0.1 CPUs\)", notices)
assert found, processes
assert int(found[1]) >= 5 and int(found[2]) >= 50, found[0]
