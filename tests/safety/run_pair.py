#!/usr/bin/env python3
"""Runs a program plain and with the agent: output, exit code and signal must be the same.

With the agent it runs three times: no collector; a collector that reads everything, with every wait recorded (threshold 0); a
collector that accepts and never reads.
usage: run_pair.py [--time-limit S] [--dies SIGNAL] LIBRARY COMMAND...
  --dies SIGNAL  the program ends by this signal, which is as it should be
"""
import argparse
import os
import subprocess
import sys
import tempfile

import drain


def run(command, environment, time_limit):
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=time_limit, cwd="/tmp",
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return "hangs", late.stdout or b"", late.stderr or b""


def show(name, result):
    print(f"--- {name}: exit code {result[0]}")
    for text in result[1:]:
        print(text.decode(errors="replace")[-4000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--dies", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("STALLSCOPE_") and name != "LD_PRELOAD"}
    clean["TZ"] = "UTC"
    plain = run(options.command, clean, options.time_limit)
    if plain[0] in ("hangs", 99) or (plain[0] < 0 and plain[0] != -options.dies) or not plain[1]:
        show("plain", plain)
        print("the program fails without the agent already")
        return 1
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, reads in (("no collector", None), ("collector reads, threshold 0", True),
                            ("collector does not read, threshold 0", False)):
            path = os.path.join(folder, "collector.sock")
            environment = dict(clean, LD_PRELOAD=options.library, STALLSCOPE_SOCKET=path)
            collector = None
            if reads is not None:
                environment["STALLSCOPE_WAIT_THRESHOLD_NS"] = "0"
                collector = drain.Collector(path, reads)
            result = run(options.command, environment, options.time_limit)
            if result != plain:
                failures += 1
                show("plain", plain)
                show(name, result)
            if collector:
                if not collector.connections:
                    failures += 1
                    print(f"{name}: the agent never connected")
                collector.close()
                collector.release()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
