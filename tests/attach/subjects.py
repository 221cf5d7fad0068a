"""Programs that the attach tests attach to, and the tool's answers. Beside tests/system/road.py, whose folder and clean-up it uses."""
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/system"))
from road import BUILD, ENVIRONMENT, FOLDER, SIMULATED_GPU, STALLSCOPE, skip, start, tool, wait_for  # noqa: E402,F401

BUSY = BUILD / "bin/attach_busy"
TARGETS = BUILD / "bin/attach_targets"
PYTHON_3_11 = "/usr/bin/python3"


def attach(pid, *options):
    """The document of an attach that must work."""
    done = tool("attach", "--json", *options, pid)
    assert done.returncode == 0, (done.returncode, done.stderr)
    document = json.loads(done.stdout)
    assert document["schema"] == "stallscope.attach/1", document
    return document


def detach(pid, *options):
    done = tool("detach", "--json", *options, pid)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def refused(pid, *parts, code=4, command="attach", runner=(), options=()):
    """An attach that must be refused in one line that holds all the parts; quick, and with that exit code."""
    done = subprocess.run([*runner, STALLSCOPE, command, *options, str(pid)], capture_output=True, text=True, check=False,
                          timeout=50, env=ENVIRONMENT)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.startswith("stallscope: ")]
    assert len(lines) == 1 and all(part in lines[0] for part in parts), (parts, done.stderr)
    assert code == 2 or lines[0].rstrip()[-1] in ".)0123456789", lines[0]
    return lines[0]


def started(*command, **options):
    """A program that prints a line when it is ready."""
    process = start(*command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, **options)
    process.first_line = process.stdout.readline().decode()
    assert process.first_line, (command, process.poll())
    return process


def finish(process, seconds=60):
    """Ends a program of started() by the end of its input; its exit code and the rest of its output."""
    process.stdin.close()
    rest = process.stdout.read().decode()
    return process.wait(timeout=seconds), rest


def state_of(pid):
    return re.search(r"State:\s+(\S)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)


class Stops:
    """How long the borrowed thread stood still, over many attaches and detaches."""

    def __init__(self):
        self.stopped_ms = []

    def add(self, document):
        self.stopped_ms.append(document["stopped_ns"] / 1e6)

    def line(self):
        ordered = sorted(self.stopped_ms)
        return (f"{len(ordered)} stops: median {ordered[len(ordered) // 2]:.2f} ms, "
                f"90 % {ordered[len(ordered) * 9 // 10]:.2f} ms, max {ordered[-1]:.2f} ms")


def cycle(pid, cycles, stops, between_s=0.0):
    """Attach and detach again and again; the slots that were taken are given back each time."""
    for turn in range(cycles):
        taken = attach(pid)
        stops.add(taken)
        if between_s:
            time.sleep(between_s)
        given = detach(pid)
        stops.add(given)
        assert taken["slots"] > 0 and given["slots_given_back"] <= taken["slots"] + 64, (turn, taken, given)
        assert given["slots_given_back"] >= taken["slots"], (turn, taken["slots"], given["slots_given_back"])
