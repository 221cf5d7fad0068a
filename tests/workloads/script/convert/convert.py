#!/usr/bin/env python3
"""Makes a workload script of a recorded run: of a capture of ours (.stallcap), an Nsight Systems export (.sqlite) or a
Kineto trace (.json, .json.gz).

usage: convert.py TRACE -o SCRIPT [--stallscope PROGRAM] [--process PID]
Output: one JSON line: what was converted, and under "notes" what is not as it was. --process: of a capture with several.
Exit codes: 0 done, 2 refused, with the reason in one line on stderr.
"""
import argparse
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import from_capture
import from_kineto
import from_nsys
import schedule
from trace import Refused

ROOT = pathlib.Path(__file__).resolve().parents[4]


def read(path, stallscope, pid=None):
    if not path.is_file():
        raise Refused(f"{path}: there is no such file")
    if path.suffix == ".stallcap":
        return from_capture.read(path, stallscope, pid)
    if path.suffix == ".sqlite":
        return from_nsys.read(path)
    if path.name.endswith((".json", ".json.gz")):
        return from_kineto.read(path)
    raise Refused(f"{path}: expected a .stallcap, .sqlite, .json or .json.gz file")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("-o", dest="script", type=pathlib.Path, required=True)
    parser.add_argument("--stallscope", default=str(ROOT / "build/release/bin/stallscope"))
    parser.add_argument("--process", type=int)
    arguments = parser.parse_args()
    try:
        trace = read(arguments.trace, arguments.stallscope, arguments.process)
        text = schedule.script(trace)
        arguments.script.write_text(text)
    except (Refused, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    kinds = collections.Counter(op.kind for op in trace.ops())
    print(json.dumps({"trace": str(arguments.trace), "kernels": kinds["kernel"], "copies": kinds["copy"],
                      "fills": kinds["fill"], "whole_graphs": kinds["whole"], "calls": len(trace.calls),
                      "notes": dict(trace.notes)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
