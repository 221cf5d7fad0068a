"""A collector killed by SIGKILL: every event that it had told anybody about is in its capture, and the tool says how.

Two programs stream into each collector. What it knows is asked over HTTP right before the kill; a capture that only had
whole blocks would lack up to half a second of it.
"""
import json
import re
import signal
import urllib.request

from road import FOLDER, STALLSCOPE, TOKEN_LOOP, check_budget, end, one_line, start, start_collector, tool, wait_for

KINDS_OF_EVENTS = {"wait", "wake", "range", "sample"}  # what the programs here record and the collector counts


def events_known(socket):
    """pid -> events, as the collector says it."""
    http = json.loads((FOLDER / f"{socket.name}.json").read_text())["http"]
    with urllib.request.urlopen(f"http://{http}/api/v1/processes", timeout=10) as answer:
        return {process["pid"]: process["events"] for process in json.load(answer)["processes"]}


def events_in(capture):
    """pid -> events, and what the tool said."""
    done = tool("dump", capture, "--format", "json")
    assert done.returncode == 0, done.stderr
    events = {}
    for line in map(json.loads, done.stdout.splitlines()):
        events[line["pid"]] = events.get(line["pid"], 0) + (line["kind"] in KINDS_OF_EVENTS)
    return events, done.stderr


for round_number, at_least in enumerate((50, 700, 1500)):
    socket, capture = FOLDER / f"{round_number}.sock", FOLDER / f"{round_number}.stallcap"
    collector = start_collector("--listen", socket, "--capture", capture)
    programs = [start(STALLSCOPE, "run", "--collector", socket, "--", TOKEN_LOOP, 0) for _ in range(2)]

    def enough():
        """What the collector knows, once both programs have streamed enough."""
        known = events_known(socket)
        return known if sum(count > at_least for count in known.values()) == 2 else None

    told = wait_for(enough, "both programs' events")
    end(collector, signal.SIGKILL)
    kept, said = events_in(capture)
    for pid, count in told.items():
        assert kept.get(pid, 0) >= count, f"pid {pid}: {count} events were received, {kept.get(pid, 0)} are in the capture"
    one_line(said, str(capture), "the collector was killed", "events were recovered from", f"{capture}.tail")
    assert re.search(r"[1-9][\d,]* events were recovered", said), said
    done = tool("budget", capture, "--json")
    assert done.returncode == 0, done
    assert {process["pid"] for process in check_budget(json.loads(done.stdout))} >= set(told)
    for program in programs:
        end(program)
