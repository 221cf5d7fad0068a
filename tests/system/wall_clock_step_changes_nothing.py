#!/usr/bin/env python3
"""A step of the wall clock by an hour, in the middle of a run, changes no number: seen by program, CUPTI and collector.

Once with CUPTI stamping by our own callback, and once by its own clock, which is the wall clock (a library whose subscribers
share it). On the simulated GPU. The step is a preload's (programs/wall_step.c): the machine's own clock is not touched.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["STALLSCOPE_BUILD"])
SIMULATED = BUILD / "lib/simgpu"
SECONDS, STEP_MS = 3.0, 1500


def decode(folder, name, preload, step):
    capture = os.path.join(folder, name)
    environment = {**os.environ, "LD_PRELOAD": " ".join(str(library) for library in preload)}
    if step:
        environment["WALL_STEP_MS"] = str(STEP_MS)
    done = subprocess.run([BUILD / "bin/stallscope", "run", "--gpu", "simulated", "--capture", capture, "--",
                           BUILD / "bin/decode_workload", "--seconds", str(SECONDS), "--json"], env=environment,
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    plain = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    document = json.loads(subprocess.run([BUILD / "bin/stallscope", "budget", capture, "--json"], env=plain,
                                         capture_output=True, text=True, check=True).stdout)
    (process,) = [one for one in document["processes"] if one["comm"] == "decode_workload"]
    clocks = subprocess.run([BUILD / "bin/stallscope", "dump", capture], env=plain, capture_output=True, text=True,
                            check=True).stdout
    return process, clocks


def check(name, process):
    causes = {cause: count for cause, count in process["health"]["causes"].items() if count}
    assert sum(line["ns"] for line in process["lines"].values()) == process["wall_ns"], (name, process["lines"])
    assert process["wall_ns"] < 2 * SECONDS * 1e9, (name, process["wall_ns"])
    assert process["itl_us"]["max"] < 1e6, (name, process["itl_us"])
    assert process["lines"].get("unknown.late", {"ns": 0})["ns"] == 0, (name, process["lines"])
    assert process["health"]["late"] == process["health"]["clamped"] == process["health"]["dropped"] == 0, (
        name, process["health"])
    assert not causes, (name, causes)


def main():
    step = BUILD / "lib/libwall_step.so"
    shared = SIMULATED / "cupti-13.3/libcupti.so.13"
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("own clock", []), ("CUPTI's clock", [shared])):
            before, _ = decode(folder, name + ".before", [step, *more], step=False)
            after, _ = decode(folder, name + ".after", [step, *more], step=True)
            check(name, before)
            check(name, after)
            uncertainty = after["clock"]["gpu_uncertainty_ns"]
            assert (uncertainty == 0) == (not more), (name, uncertainty)
            # As many steps, but for what a busy machine does to a run of three seconds.
            assert 0.3 < after["steps"] / before["steps"] < 3, (name, before["steps"], after["steps"])
            print(f"{name}: {before['steps']} steps without, {after['steps']} with the step, uncertainty {uncertainty} ns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
