#!/usr/bin/env python3
"""Runs a program plain and with the agent: output, exit code and signal must be the same, and the agent must have recorded something.

Preloaded it runs four times: no collector; a collector that reads everything, with every wait recorded (threshold 0); the same with the
stack of every wait (agent/stacks); a collector that accepts and never reads. With --attach three times more, started plain and held by
check.h until `stallscope attach` has answered: every wait recorded; the stack of every wait; a `stallscope detach` in the middle.
usage: run_pair.py [--time-limit S] [--dies SIGNAL] [--exits CODE] [--beside LIBRARY [--beside-first]] [--any-report] [--silent]
                   [--attach STALLSCOPE [--attach-refused WORDS] [--never-detached]] LIBRARY COMMAND...
  --dies SIGNAL           the program ends by this signal, which is as it should be
  --exits CODE            the program ends with this code, which is as it should be
  --beside LIBRARY        a library that is preloaded in all runs; the agent once behind it, once in front of it
  --beside-first          only behind it
  --any-report            standard error is not compared: a report with addresses
  --silent                there may be nothing to record
  --attach STALLSCOPE     the program that attaches; left out, with the reason, where it cannot
  --never-detached        the program traces itself at its end, and so cannot have another tracer then
  --attach-refused WORDS  it must refuse this program, in a line with these words; the program ends as ever
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import drain
from environment import wait_until

# check.h: the program waits at its start until this file exists.
GATE = "STALLSCOPE_SAFETY_GATE"


def run(command, environment, time_limit):
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=time_limit, cwd="/tmp",
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return "hangs", late.stdout or b"", late.stderr or b""


def why_not_attached(stallscope):
    """Why this stallscope cannot attach, "" when it can."""
    if not stallscope or not os.access(stallscope, os.X_OK):
        return "no stallscope program in this build"
    answer = subprocess.run([stallscope, "attach", "--help"], capture_output=True, text=True)
    if answer.returncode != 0:
        return "this stallscope has no command attach"
    # A sandbox may forbid it for every process, which is no fault of the program under test.
    sleeper = subprocess.Popen(["sleep", "60"], stderr=subprocess.DEVNULL)
    try:
        probe = subprocess.run([stallscope, "attach", str(sleeper.pid)], capture_output=True, text=True, timeout=30)
        return "" if probe.returncode == 0 else f"attaching to a sleeping program: {(probe.stdout + probe.stderr).strip()}"
    except subprocess.TimeoutExpired:
        return "attaching to a sleeping program hangs"
    finally:
        sleeper.kill()
        sleeper.wait()


def run_attached(stallscope, command, environment, time_limit, folder, level, detach_after_s):
    """(result of the program, what attach said, its exit code, what detach said)"""
    gate = os.path.join(folder, "gate")
    process = subprocess.Popen(command, env=dict(environment, **{GATE: gate}), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, cwd="/tmp")

    def ask(*words):
        try:
            done = subprocess.run([stallscope, *words, str(process.pid)], env=environment, capture_output=True, text=True,
                                  timeout=time_limit)
            return (done.stdout + done.stderr).strip(), done.returncode
        except subprocess.TimeoutExpired:
            return f"{words[0]} hangs", "hangs"

    said, code = ask("attach", "--level", level)
    open(gate, "w").close()
    parting = ""
    if detach_after_s is not None:
        time.sleep(detach_after_s)
        parting, left = ask("detach", "--wait", "1")
        # Refused where the process is over, became another program, never stands still: no fault of the program under test.
        if left not in (0, 3, 4):
            said, code = parting, left
    try:
        out, err = process.communicate(timeout=time_limit)
        result = process.returncode, out, err
    except subprocess.TimeoutExpired:
        process.kill()
        result = "hangs", *process.communicate()
    os.unlink(gate)
    return result, said, code, parting


def recorded(collector):
    """How many events all processes together have put into their rings."""
    return sum(slot["head"] for connection in list(collector.connections) for fd in list(connection.memory_fds)
               for slot in drain.SharedMemory(fd).slots())


def show(name, result):
    print(f"--- {name}: exit code {result[0]}")
    for text in result[1:]:
        print(text.decode(errors="replace")[-4000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--dies", type=int, default=0)
    parser.add_argument("--exits", type=int)
    parser.add_argument("--beside", default="")
    parser.add_argument("--beside-first", action="store_true")
    parser.add_argument("--any-report", action="store_true")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--attach", default="")
    parser.add_argument("--attach-refused", default="")
    parser.add_argument("--never-detached", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("STALLSCOPE_") and name != "LD_PRELOAD"}
    clean["TZ"] = "UTC"
    beside = {"LD_PRELOAD": options.beside} if options.beside else {}
    plain = run(options.command, dict(clean, **beside), options.time_limit)
    if (plain[0] in ("hangs", 99) or (plain[0] < 0 and plain[0] != -options.dies) or not plain[1] or
            b"cannot be preloaded" in plain[2] or (options.exits is not None and plain[0] != options.exits)):
        show("plain", plain)
        print("the program fails without the agent already")
        return 1
    failures = 0

    def compare(name, result):
        nonlocal failures
        compared = 2 if options.any_report else 3
        if result[:compared] != plain[:compared]:
            failures += 1
            show("plain", plain)
            show(name, result)

    def check_recorded(name, collector):
        nonlocal failures
        try:  # a short program may be gone before its connection is accepted
            wait_until(lambda: collector.connections, "a connection", seconds=5)
            if collector.reads and not options.silent:
                wait_until(lambda: recorded(collector) > 0, "a record", seconds=5)
        except AssertionError as missing:
            failures += 1
            print(f"{name}: the agent did nothing ({missing})")

    everything = {"STALLSCOPE_WAIT_THRESHOLD_NS": "0"}
    stacks = dict(everything, STALLSCOPE_STACK_THRESHOLD_NS="0")
    orders = [options.library]
    if beside:
        orders = [f"{options.beside}:{options.library}", f"{options.library}:{options.beside}"][:1 if options.beside_first else 2]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "collector.sock")
        for order in orders:
            for name, reads, settings in (("no collector", None, {}), ("collector reads, threshold 0", True, everything),
                                          ("collector reads, stacks of everything", True, dict(stacks, STALLSCOPE_LEVEL="stacks")),
                                          ("collector does not read, threshold 0", False, everything)):
                name = f"{order}, {name}" if beside else name
                environment = dict(clean, LD_PRELOAD=order, STALLSCOPE_SOCKET=path, **settings)
                collector = drain.Collector(path, reads) if reads is not None else None
                compare(name, run(options.command, environment, options.time_limit))
                if collector:
                    check_recorded(name, collector)
                    collector.close()
                    collector.release()
        reason = why_not_attached(options.attach) if options.attach else ""
        if reason:
            print(f"left out: the attached runs ({reason})")
        elif options.attach:
            for name, level, settings, detach_after_s in (
                    ("attached, threshold 0", "budget", everything, None), ("attached, stacks of everything", "stacks", stacks, None),
                    ("attached, detached in the middle", "budget", everything, 0.005)):
                if detach_after_s is not None and options.never_detached:
                    continue
                collector = drain.Collector(path)
                result, said, code, parting = run_attached(options.attach, options.command, dict(
                    clean, STALLSCOPE_SOCKET=path, **beside, **settings), options.time_limit, folder, level, detach_after_s)
                compare(f"{name} (attach said, with exit code {code}: {said}; {parting})", result)
                if options.attach_refused:
                    failures += code != 4 or options.attach_refused not in said
                    print(said)
                elif code != 0:
                    failures += 1
                    print(f"{name}: failed with {code}: {said}")
                elif detach_after_s is None:
                    check_recorded(name, collector)
                else:
                    print(parting)
                collector.close()
                collector.release()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
