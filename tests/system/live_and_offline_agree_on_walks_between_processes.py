"""A wait in one process that another one ended: what one collector says of both live, with a capture, and what the capture alone
says afterwards is the same document, to the nanosecond and with the same names."""
import json

from road import BUILD, FOLDER, STALLSCOPE, check_budget, end, of_pid, start, start_collector, tool, wait_for

STEPS = 200
# Told by the processes themselves, and read out of their memory by the collector; and walks that go to and fro.
RUNS = [("pipe", []), ("pipe", ["threads"]), ("tcp", ["threads"]), ("semaphore", []), ("mutex", ["threads"]),
        ("fifo", ["threads"]), ("dgram_to", []), ("dgram_to", ["threads"]),
        ("there_and_back", []), ("there_and_back", ["threads"])]


def told(document):
    """Of the processes with steps, which is what a live report keeps."""
    return {process["pid"]: process for process in check_budget(document) if process["steps"]}


def differences(live, offline, where=""):
    if isinstance(live, dict) and isinstance(offline, dict):
        return [found for name in sorted(set(live) | set(offline))
                for found in differences(live.get(name), offline.get(name), f"{where}.{name}")]
    return [] if live == offline and type(live) is type(offline) else [(where, live, offline)]


failures = []
for channel, more in RUNS:
    name = "-".join([channel, *more])
    capture, address = FOLDER / f"{name}.stallcap", FOLDER / f"{name}.sock"
    collector = start_collector("--listen", address, "--http", "127.0.0.1:0", "--capture", capture)
    program = start(BUILD / "bin/two_processes", channel, STEPS, "both", *more,
                    environment={"LD_PRELOAD": str(BUILD / "lib/libstallscope.so"), "STALLSCOPE_SOCKET": str(address)})
    assert program.wait(timeout=60) == 0, name

    def live_report():
        """The whole of it, once both have ended and nothing of theirs changes any more."""
        text = tool("top", "--json", "--window", "all", "--collector", address).stdout
        found = told(json.loads(text))
        complete = len(found) == 2 and all(process["steps"] >= STEPS - 2 for process in found.values())
        again = told(json.loads(tool("top", "--json", "--window", "all", "--collector", address).stdout))
        return found if complete and found == again else None

    live = wait_for(live_report, f"both processes' steps ({name})")
    end(collector)
    offline = told(json.loads(tool("budget", capture, "--json").stdout))
    assert set(live) == set(offline), (name, set(live), set(offline))
    assert program.pid in live
    consumer, producer = of_pid(live.values(), program.pid), next(p for pid, p in live.items() if pid != program.pid)
    for process in (consumer, producer):
        failures += [(name, process["comm"], *found) for found in differences(process, offline[process["pid"]])]
    # The walks did go into the other process: what it did is in this one's lines, with its name.
    walks = [(consumer, "host.sleep", "producer[", ())]
    if channel == "there_and_back":
        walks.append((producer, "host.cpu", "two_processes[", ("host.offcpu",)))  # which part of it ran depends on the machine
    for process, line, who, more_lines in walks:
        share = sum(process["lines"][each]["ns"] for each in (line, *more_lines)) / process["wall_ns"]
        note = process["lines"][line]["note"] or ""
        print(f"{name}: {process['comm']}, {process['steps']} steps: {line} {100 * share:.1f} %, {note}")
        if who not in note or share < 0.1:
            failures.append((name, process["comm"], "no walk into the other process", line, share, note))
assert not failures, failures
