#!/usr/bin/env python3
"""torch.profiler gives the same with and without the agent, and the agent disturbs nothing of its output.

Needs a Python that can import torch: this one, or the one named by STALLSCOPE_TORCH_PYTHON. A run on the CPU is enough
to load libkineto, which looks for CUPTI and registers its own callbacks.
"""
import os
import pathlib
import subprocess
import sys

PROGRAM = """
import torch
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as first:
    a = torch.ones(64, 64)
    b = (a @ a).relu().sum()
with profile(activities=list(torch.profiler.supported_activities())) as second:
    c = (a + a).softmax(-1)
for run in (first, second):
    for event in sorted(run.key_averages(), key=lambda event: event.key):
        print(event.key, event.count)
print(float(b), float(c.sum()))
"""


def main():
    python = os.environ.get("STALLSCOPE_TORCH_PYTHON", sys.executable)
    probe = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"skipped: {python} cannot import torch; name one that can in STALLSCOPE_TORCH_PYTHON")
        return 77
    agent = pathlib.Path(os.environ["STALLSCOPE_BUILD"]) / "lib" / "libstallscope.so"
    runs = []
    for preload in ({}, {"LD_PRELOAD": str(agent)}):
        run = subprocess.run([python, "-c", PROGRAM], env={**os.environ, **preload}, capture_output=True, text=True)
        runs.append((run.returncode, run.stdout, len(run.stderr.splitlines())))
    assert runs[0][0] == 0 and "aten::" in runs[0][1], runs[0]
    assert runs[0] == runs[1], f"without the agent:\n{runs[0]}\nwith it:\n{runs[1]}"
    print("torch", probe.stdout.strip(), "gives the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
