"""What the system tests share: the build's programs, a folder of one's own, waiting for things, and the budget's schema.

Each test is one script about one behaviour; it ends with 0, or 77 with the reason when it cannot be tried here.
"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["STALLSCOPE_BUILD"])
STALLSCOPE = BUILD / "bin/stallscope"
TOKEN_LOOP = BUILD / "bin/token_loop"
TOKEN_LOOP_STATIC = BUILD / "bin/token_loop_static"
DECODE_WORKLOAD = BUILD / "bin/decode_workload"
SIMULATED_GPU = BUILD / "lib/simgpu"

# One folder a test: sockets, captures and the address files of its collectors.
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="stallscope-system-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("STALLSCOPE_")}
ENVIRONMENT["XDG_RUNTIME_DIR"] = str(FOLDER)
DEFAULT_SOCKET = FOLDER / "stallscope/collector.sock"

_started = []


@atexit.register
def _end_what_runs():
    for process in _started:
        if process.poll() is None:
            process.kill()
            process.wait()


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


def tool(*arguments, **options):
    """Runs the tool to its end; the result has returncode, stdout, stderr."""
    return subprocess.run([STALLSCOPE, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=50,
                          env={**ENVIRONMENT, **options.pop("environment", {})}, **options)


def start(*command, **options):
    """Starts a program that is ended at the latest with the test. stderr goes to a file that stderr_of reads."""
    log = open(FOLDER / f"stderr-{len(_started)}", "w+b")
    process = subprocess.Popen([str(word) for word in command], env={**ENVIRONMENT, **options.pop("environment", {})},
                               stdout=options.pop("stdout", subprocess.DEVNULL), stderr=log, **options)
    process.log = pathlib.Path(log.name)
    log.close()
    _started.append(process)
    return process


def stderr_of(process):
    return process.log.read_text(errors="replace")


def wait_for(condition, what, seconds=20):
    """Polls until the condition yields something true; that is returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def start_collector(*options):
    """A collector in the foreground, listening."""
    collector = start(STALLSCOPE, "collect", *options)
    wait_for(lambda: "collecting at" in stderr_of(collector) or collector.poll() is not None, "the collector")
    assert collector.poll() is None, stderr_of(collector)
    return collector


def end(process, number=signal.SIGTERM):
    """Ends a process of start() and returns its exit code."""
    process.send_signal(number)
    return process.wait(timeout=30)


def record(name="run", steps=50, *more):
    """Records token_loop into a capture and returns its path."""
    capture = FOLDER / f"{name}.stallcap"
    done = tool("run", "--capture", capture, *more, "--", TOKEN_LOOP, steps)
    assert done.returncode == 0, done.stderr
    return capture


def dump(capture):
    """The events of a capture as dictionaries."""
    done = tool("dump", capture, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def one_line(text, *parts):
    """The tool says it in one line that holds all the parts."""
    lines = [line for line in text.splitlines() if line.startswith("stallscope: ")]
    assert any(all(part in line for part in parts) for line in lines), f"no line with {parts} in:\n{text}"


def connect(path):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(str(path))
    return link


NUMBER = (int, float)
OR_NULL = (int, float, type(None))  # what cannot be said is null, never zero
SYNC = {"name": str, "calls": int, "total_ns": int, "over_wait_ns": int, "within_clock_error_ns": int,
        "idle_inside_ns": int, "unneeded_ns": int}
LINE = {"ns": int, "hidden_ns": int, "per_step_us": OR_NULL, "per_token_us": OR_NULL, "share": OR_NULL}
PROCESS = {"pid": int, "comm": str, "gpu": str, "steps": int, "tokens": int, "tokens_source": str, "wall_ns": int,
           "segmentation": {"method": str, "confidence": NUMBER}, "lines": dict,
           "itl_us": {"p50": OR_NULL, "p90": OR_NULL, "p99": OR_NULL, "max": OR_NULL}, "syncs": list,
           "health": {"events": int, "dropped": int, "late": int, "clamped": int, "unmatched": int},
           "agent": {"level": str, "cost_share": NUMBER}}
DOCUMENT = {"schema": str, "simulated_gpu": bool, "window": {"begin_ns": int, "end_ns": int}, "processes": list}


def _matches(value, shape, where):
    if isinstance(shape, dict):
        assert isinstance(value, dict), f"{where} is no object: {value!r}"
        for member, inner in shape.items():
            assert member in value, f"{where} lacks {member}"
            _matches(value[member], inner, f"{where}.{member}")
    else:
        assert isinstance(value, shape) and (shape is bool or not isinstance(value, bool)), f"{where} is {value!r}"


def check_budget(document):
    """The schema stallscope.budget/1, and that each process's lines sum to its wall time to the nanosecond."""
    _matches(document, DOCUMENT, "document")
    assert document["schema"] == "stallscope.budget/1", document["schema"]
    for process in document["processes"]:
        _matches(process, PROCESS, "process")
        for name, line in process["lines"].items():
            _matches(line, LINE, name)
            assert line["ns"] >= 0 and line["hidden_ns"] >= 0, (name, line)
        for sync in process["syncs"]:
            _matches(sync, SYNC, "sync")
        total = sum(line["ns"] for line in process["lines"].values())
        assert total == process["wall_ns"], f"lines {total} ns, wall {process['wall_ns']} ns"
    return document["processes"]


def of_pid(processes, pid):
    return next(process for process in processes if process["pid"] == pid)
