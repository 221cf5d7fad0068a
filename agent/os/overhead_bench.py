#!/usr/bin/env python3
"""What do the hooks cost? Runs overhead_bench plain and with the agent in turns, and prints both and the difference.

The agent records every wait (threshold 0) and no collector listens, so a ring is overwritten again and again: the full cost on the
program's thread. For each call the fastest of all turns counts, since others share the machine.
usage: overhead_bench.py LIBRARY PROGRAM [--turns N] [--scale X] [--json]
"""
import argparse
import json
import os
import subprocess
import sys


def run(program, scale, environment):
    out = subprocess.run([program, str(scale)], env=environment, capture_output=True, text=True, check=True).stdout
    return {name: float(ns) for name, ns in (line.split() for line in out.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("program")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STALLSCOPE_")}
    hooked = dict(clean, LD_PRELOAD=options.library, STALLSCOPE_SOCKET="/nonexistent/collector.sock",
                  STALLSCOPE_WAIT_THRESHOLD_NS="0")
    fastest = [{}, {}]
    for _ in range(options.turns):
        for best, environment in zip(fastest, (clean, hooked)):
            for name, ns in run(options.program, options.scale, environment).items():
                best[name] = min(best.get(name, ns), ns)
    plain, agent = fastest
    if options.json:
        print(json.dumps({name: {"plain_ns": plain[name], "agent_ns": agent[name],
                                 "difference_ns": round(agent[name] - plain[name], 2)} for name in plain}))
        return 0
    print(f"{'call':16} {'plain ns':>9} {'agent ns':>9} {'more':>7} {'ratio':>6}")
    for name in plain:
        print(f"{name:16} {plain[name]:9.2f} {agent[name]:9.2f} {agent[name] - plain[name]:+7.2f} "
              f"{agent[name] / plain[name]:6.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
