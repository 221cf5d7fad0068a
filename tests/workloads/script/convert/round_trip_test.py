#!/usr/bin/env python3
"""Round trip: a run is recorded under the agent, becomes a script, is played under the agent, and is recorded again.

Asserted of the two captures, on what the simulated GPU did: the same kernels, copies, fills and graphs by name and number,
the same busy time to the microsecond, and the same number of gaps above 20 us. The script is played on a clock of its own
(script_player --clock own), on which host time is what the script and the simulator say and not what a loaded machine makes
of it; each piece of work begins at the moment recorded for it (`at=`), or later where the played host side, its waits and
hand-overs are late for it. So a gap that differs means that the play was late. Of a third play, with `--begins free`, where
nothing but the simulation says when work begins, the kernels are asserted, and busy time and gaps printed. What ran inside a
graph that was traced as a whole is no part of either capture; the whole is.

usage: round_trip_test.py SOURCE BUILD llama.cpp|workload|workload-eager
Exit code 77 (skipped) where llama.cpp could not be had.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GAP_NS = 20_000
BUSY_ERROR_NS = 1000
TRIES = 3  # a machine so busy that records are lost, and said to be, is no fault of the script: then again, three times in all

source, build, which = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
sys.path.insert(0, str(source / "tests/demo"))
import engine as engines

stallscope, player = build / "bin/stallscope", build / "bin/script_player"


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=100,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}{done.stdout[-500:]}"
    return done.stdout


def recorded_command():
    """(what is recorded, its environment)"""
    if which != "llama.cpp":
        eager = ["--eager", "--churn"] if which == "workload-eager" else []
        return [build / "bin/decode_workload", "--sequences", 8, "--layers", 4, "--steps", 150, *eager], {}
    paths = dict(line.split("=", 1) for line in run(source / "tools/setup", "--paths").replace("''", "").splitlines())
    try:
        engine = engines.LlamaCpp(paths)
        command = engine.command("cuda", 2, 2, 1)
    except engines.EngineMissing as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    at = command.index("--seconds")
    return command[:at] + ["--tokens", "150", "--stagger-ms", "0"], engine.environment()


class Recorded:
    """What a capture says of the device."""

    def __init__(self, capture, pid=None):
        records = [json.loads(line) for line in run(stallscope, "dump", capture, "--format", "json").splitlines()]
        work = [record for record in records if record["kind"] == "gpu"]
        processes = json.loads(run(stallscope, "budget", capture, "--json"))["processes"]
        # On a busy machine a run on its own clock may have every record refused.
        works = collections.Counter({process["pid"]: process["health"]["clamped"] for process in processes})
        works.update(record["pid"] for record in work)
        pid = pid or works.most_common(1)[0][0]
        work = [record for record in work if record["pid"] == pid]
        self.lost = sum(record.get("records", 0) for record in records if record["kind"] == "loss" and record["pid"] == pid)
        # GPU records that were refused, because their times cannot be right, are among the clamped.
        for process in processes:
            if process["pid"] == pid:
                self.lost += process["health"]["clamped"]
        self.names = collections.Counter((record["op"], record["name"]) for record in work)
        self.measure((record["begin_ns"], record["end_ns"]) for record in work)

    def measure(self, spans):
        union = []
        for begin, end in sorted(spans):
            if union and begin <= union[-1][1]:
                union[-1][1] = max(union[-1][1], end)
            else:
                union.append([begin, end])
        self.busy_ns = sum(end - begin for begin, end in union)
        gaps = [after[0] - before[1] for before, after in zip(union, union[1:])]
        self.gaps, self.long_gaps = len(gaps), sum(gap > GAP_NS for gap in gaps)

    def __str__(self):
        return f"{sum(self.names.values())} pieces of work, busy {self.busy_ns} ns, {self.gaps} gaps, {self.long_gaps} above 20 us"


class Simulated(Recorded):
    """The same of the simulator's own account of a run."""

    def __init__(self, truth):
        lines = [json.loads(line) for line in truth.read_text().splitlines()]
        work = [line for line in lines if line.get("op") in ("kernel", "copy", "fill")]
        self.names = collections.Counter(line["op"] for line in work)
        self.measure((line["begin_ns"], line["end_ns"]) for line in work)


def record(capture, *command, **environment):
    run(stallscope, "run", "--gpu", "simulated", "--capture", capture, "--command-output", f"{capture}.log", "--quiet", "--",
        *command, **environment)


def main():
    command, environment = recorded_command()
    with tempfile.TemporaryDirectory(prefix="stallscope-round-trip-") as name:
        folder = pathlib.Path(name)
        for _ in range(TRIES):
            record(folder / "first.stallcap", *command, **environment)
            first = Recorded(folder / "first.stallcap")
            converted = json.loads(run(sys.executable, HERE / "convert.py", folder / "first.stallcap", "-o", folder / "run.script",
                                       "--stallscope", stallscope))
            record(folder / "second.stallcap", player, folder / "run.script", "--clock", "own")
            second = Recorded(folder / "second.stallcap")
            if not first.lost and not second.lost:
                break
            print(f"once more: {first.lost} and {second.lost} records were said to be lost or refused")
        print(f"recorded: {first}\nplayed:   {second}\nnotes: {converted['notes']}")
        if first.lost or second.lost:
            print(f"SKIPPED: {first.lost} and {second.lost} records were lost on this busy machine")
            return 77
        assert sum(first.names.values()) > 400, first
        assert first.names == second.names, (first.names - second.names, second.names - first.names)
        assert abs(first.busy_ns - second.busy_ns) <= BUSY_ERROR_NS, (first.busy_ns, second.busy_ns)
        assert first.long_gaps == second.long_gaps, (first.long_gaps, second.long_gaps)

        truth = folder / "truth.jsonl"
        run(player, folder / "run.script", "--clock", "own", "--fast", "--begins", "free", SIMGPU_TRUTH=str(truth),
            LD_LIBRARY_PATH=str(build / "lib/simgpu"))
        free = Simulated(truth)
        print(f"free:     {free}")
        assert free.names["kernel"] == sum(converted[kind] for kind in ("kernels", "whole_graphs")), free.names
    return 0


if __name__ == "__main__":
    sys.exit(main())
