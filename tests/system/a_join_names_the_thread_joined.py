"""A join of a thread that has just been created, with the handle of one before it, names that thread and no other."""
from road import BUILD, FOLDER, dump, tool

capture = FOLDER / "joins.stallcap"
done = tool("run", "--quiet", "--capture", capture, "--", BUILD / "bin/joins_new_threads")
assert done.returncode == 0, done.stderr
waits = [event for event in dump(capture) if event["kind"] == "wait"]
joins = [event for event in waits if event["name"] == "pthread_join"]
assert len(joins) == 50, len(joins)
for join in joins:
    slept = [wait["tid"] for wait in waits if wait["name"] == "nanosleep" and join["begin_ns"] < wait["end_ns"] <= join["end_ns"]]
    assert slept == [join["count"]], (join, slept)
