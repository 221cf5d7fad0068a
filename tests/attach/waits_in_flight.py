"""Threads that waited before the attach are named by attach itself, and stand among the blocked in the live view until they go on."""
import json

from subjects import TARGETS, attach, detach, finish, started, tool, wait_for
from road import start_collector

start_collector()
process = started(TARGETS, "threads")
document = attach(process.pid)
waits = {wait["name"]: wait for wait in document["waits"]}
assert waits["on-condition"]["call"] == "futex", waits
assert waits["on-pipe"]["call"] == "read" and "pipe:[" in waits["on-pipe"]["on"], waits
assert waits["sleeper"]["call"] == "clock_nanosleep", waits


def blocked():
    done = tool("top", "--once", "--json")
    if done.returncode != 0:
        return None
    found = [report for report in json.loads(done.stdout)["processes"] if report["pid"] == process.pid]
    names = {thread["thread_name"]: thread for thread in found[0]["blocked"]} if found else {}
    return names if {"on-condition", "on-pipe", "sleeper"} <= set(names) else None


names = wait_for(blocked, "the waits in the live view")
assert names["on-pipe"]["call"] == "read" and names["on-condition"]["for_ns"] > 0, names
text = tool("attach", process.pid)
assert text.returncode == 4, text
detach(process.pid)
again = tool("attach", process.pid)
assert again.returncode == 0 and "wait since before" in again.stdout and "on-pipe" in again.stdout, again
assert finish(process)[0] == 0
print(again.stdout)
