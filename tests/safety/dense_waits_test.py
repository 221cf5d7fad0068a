#!/usr/bin/env python3
"""Waits that come ten times as fast as rings of the first size are emptied: none is lost, in a process of one thread, which the collector
reads, and in one of several, which has a streaming thread. (Rates that a loaded machine holds too; the most that holds is measured by
tests/bench/peers.py.)

usage: dense_waits_test.py STALLSCOPE EVENT_FLOOD
"""
import os
import re
import subprocess
import sys

TRIES = 3  # a machine that stops for half a second loses some


def lost(stallscope, flood, threads, rate):
    environment = dict(os.environ, STALLSCOPE_WAIT_THRESHOLD_NS="0")
    done = subprocess.run([stallscope, "run", "--", flood, str(threads), str(rate), "1.5"], env=environment, capture_output=True, text=True,
                          timeout=60)
    text = done.stdout + done.stderr
    made = re.search(r"waits (\d+)", text)
    health = re.search(r"health:? +([\d,]+) events, ([\d,]+) lost", text)
    assert done.returncode == 0 and made and health, text
    received, missed = (int(number.replace(",", "")) for number in health.groups())
    assert received + missed >= int(made[1]), text
    print(f"{threads} threads of {rate:,} a second: {received:,} received, {missed:,} lost")
    return missed


def main():
    stallscope, flood = sys.argv[1:3]
    for threads, rate in ((0, 100_000), (4, 100_000)):
        if all(lost(stallscope, flood, threads, rate) != 0 for _ in range(TRIES)):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
