#!/usr/bin/env python3
"""Each public trace of the collection becomes a script with the same kernels, busy time and gaps, or is refused with the reason.

What a trace holds is known from NAME.oracle.json beside it, made by a program that shares nothing with the converters.
Times are compared to the nanosecond; a piece of work of no length counts one. Where playing does not take long, the script
is also played, and what the simulated GPU did is compared in the same way.

usage: public_traces_test.py BUILD
STALLSCOPE_DATA names the collection (default: shared/data beside the source tree). Exit code 77 (skipped) without it.
"""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BUILD = pathlib.Path(sys.argv.pop(1))
DATA = pathlib.Path(os.environ.get("STALLSCOPE_DATA", ROOT.parent / "shared/data"))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="stallscope-traces-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
GAP_NS = 20_000
NO_LENGTH = "pieces of work of no length: 1 ns"

REFUSED = {"hta_cpu_only.json.gz": "no device work in it (no kernel, copy, fill or graph; 0 API calls",
           "hta_cupti_ranges.json.gz": "no device work in it (no kernel, copy, fill or graph; 1862 API calls, 104 of them",
           "osrt_multiproc.sqlite": "no device work in it (no kernel, copy, fill or graph; 0 API calls"}
CONVERTED = {"kineto": ("bert_h100 hta_alexnet hta_amd hta_event_sync hta_event_sync_ms hta_graphs_a100 hta_nccl hta_ns "
                        "hta_old_cats hta_step hta_triton kineto_before param_linear qwen_h100 sglang_prefill_decode "
                        "tb_resnet_2021 triton_compile vllm_decode_graph").split(),
             "nsys": ("cudf_groupby cupy_min graphs_rtx3060 numba_driver power_iter_t4 tiny_rtx3080 vecadd_clockskew "
                      "vecadd_launchbound vecadd_n10 vecadd_serial wan_2gpu_after wan_2gpu_before workflow_numba").split()}
ENDING = {"kineto": ".json.gz", "nsys": ".sqlite"}
# Their copies of hundreds of megabytes really move.
NOT_PLAYED = {"vecadd_serial", "vecadd_n10", "hta_graphs_a100"}


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/simgpu"), **environment})


def played_work(truth):
    """(busy ns, gaps, long gaps) of everything that the simulated GPU did."""
    spans = sorted((line["begin_ns"], line["end_ns"]) for line in map(json.loads, truth.read_text().splitlines())
                   if line.get("op") in ("kernel", "copy", "fill"))
    busy, gaps, long_gaps, (begin, end) = 0, 0, 0, spans[0]
    for next_begin, next_end in spans:
        if next_begin > end:
            gaps, long_gaps, busy = gaps + 1, long_gaps + (next_begin - end > GAP_NS), busy + end - begin
            begin = next_begin
            end = next_end
        end = max(end, next_end)
    return busy + end - begin, gaps, long_gaps


class PublicTraces(unittest.TestCase):
    def converted(self, path):
        script = FOLDER / f"{path.name}.script"
        done = run(sys.executable, HERE / "convert.py", path, "-o", script)
        return script, done

    def check(self, path, play):
        oracle = json.loads(pathlib.Path(f"{path}.oracle.json").read_text())
        script, done = self.converted(path)
        self.assertEqual(done.returncode, 0, done.stderr)
        of_no_length = json.loads(done.stdout)["notes"].get(NO_LENGTH, 0)
        checked = run(BUILD / "bin/script_player", script, "--check")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        summary = json.loads(checked.stdout)
        self.assertEqual(sum(count for count, _ in summary["names"].values()), sum(row["count"] for row in oracle["kernel"]))
        self.assertEqual(sorted(count for count, _ in summary["names"].values()),
                         sorted(row["count"] for row in oracle["kernel"]))
        devices = list(oracle["gpu"].values())
        self.assertEqual(len(summary["devices"]), len(devices))
        for ours, theirs in zip(sorted(summary["devices"].values(), key=lambda one: one["operations"]),
                                sorted(devices, key=lambda one: one["work_items"])):
            self.assertEqual((ours["operations"], ours["gaps"]), (theirs["work_items"], theirs["gaps"]))
            self.assertLessEqual(abs(ours["busy_ns"] - theirs["busy"]), of_no_length)
        if play:
            truth = FOLDER / "truth.jsonl"
            truth.unlink(missing_ok=True)
            done = run(BUILD / "bin/script_player", script, "--fast", SIMGPU_TRUTH=str(truth))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["kernels"], summary["kernels"])
            if len(devices) == 1:
                device = summary["devices"]["0"]
                self.assertEqual(played_work(truth), (device["busy_ns"], device["gaps"], device["gaps_over_20us"]))


def add_tests():
    for kind, names in CONVERTED.items():
        for name in names:
            def test(self, path=DATA / kind / f"{name}{ENDING[kind]}", play=name not in NOT_PLAYED):
                self.check(path, play)
            setattr(PublicTraces, f"test_{kind}_{name}", test)
    for name, why in REFUSED.items():
        def refused(self, path=DATA / ("nsys" if name.endswith("sqlite") else "kineto") / name, why=why):
            script, done = self.converted(path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
            self.assertFalse(script.exists())
        setattr(PublicTraces, f"test_refused_{name.split('.')[0]}", refused)

    def nothing_is_left_out(self):
        known = {f"{name}{ENDING[kind]}" for kind, names in CONVERTED.items() for name in names} | set(REFUSED)
        found = {path.name for kind, ending in ENDING.items() for path in (DATA / kind).glob(f"*{ending}")}
        self.assertEqual(found, known)
    PublicTraces.test_nothing_is_left_out = nothing_is_left_out


if __name__ == "__main__":
    if not (DATA / "kineto").is_dir():
        print(f"SKIPPED: no collection of public traces at {DATA}; STALLSCOPE_DATA names one")
        sys.exit(77)
    add_tests()
    unittest.main()
