"""dump: one event a line, in order of time, with every marker of the program; --process leaves others out."""
from road import dump, record, tool

capture = record("dump", 100)
events = dump(capture)
begins = [event["begin_ns"] for event in events]
assert begins == sorted(begins)
markers = [event for event in events if event.get("range") == "step_marker"]
assert len(markers) == 100 and all(marker["number"] == 4 for marker in markers), markers[:2]
waits = {event["name"] for event in events if event["kind"] == "wait"}
assert {"pthread_cond_wait", "nanosleep"} <= waits, waits
assert all(event["end_ns"] >= event["begin_ns"] for event in events)
text = tool("dump", capture)
assert text.returncode == 0 and len(text.stdout.splitlines()) == len(events), text.stderr
pid = events[0]["pid"]
assert len(tool("dump", capture, "--process", pid).stdout.splitlines()) == len(events)
assert tool("dump", capture, "--process", pid + 1).stdout == ""
