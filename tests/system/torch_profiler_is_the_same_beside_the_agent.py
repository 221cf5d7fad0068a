#!/usr/bin/env python3
"""torch.profiler gives the same with and without the agent, which steps aside for it and comes back.

A real PyTorch: the one that tools/setup --for torch has fetched, or that the Python named by STALLSCOPE_TORCH_PYTHON can
import. Once on the CPU, which loads libkineto and CUPTI, and once on the simulated GPU, whose runtime and CUPTI take the
place of NVIDIA's. There the profiler's session must hold every kernel, and the agent's records all those before and after.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["STALLSCOPE_BUILD"])
AGENT = BUILD / "lib" / "libstallscope.so"
SIMULATED = BUILD / "lib" / "simgpu"

ON_CPU = """
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

# 50 additions, 20 under the profiler, 30 when the agent has come back; each also fills its first operand.
ON_GPU = """
import time, torch
from torch.profiler import profile, supported_activities
def work(times):
    a = torch.ones(64, 64, device="cuda")
    for _ in range(times): a = a + 1
    torch.cuda.synchronize()
work(50)
time.sleep(0.3)
with profile(activities=list(supported_activities())) as run:
    work(20)
time.sleep(2.5)
work(30)
time.sleep(0.3)
for event in sorted(run.key_averages(), key=lambda event: event.key):
    print(event.key, event.count, event.device_type)
kernels = [event for event in run.events() if "CUDA" in str(event.device_type)]
print(len(kernels), "kernels,", sum(event.time_range.elapsed_us() > 0 for event in kernels), "with a length")
"""


def find_torch():
    """The Python and the environment that import torch."""
    if "STALLSCOPE_TORCH_PYTHON" in os.environ:
        return os.environ["STALLSCOPE_TORCH_PYTHON"], dict(os.environ)
    said = subprocess.run([ROOT / "tools/setup", "--paths"], capture_output=True, text=True, check=True).stdout
    paths = dict(line.split("=", 1) for line in said.splitlines())
    folder = paths["STALLSCOPE_TORCH"].strip("'")
    if folder:
        folder += os.pathsep + paths["STALLSCOPE_PYTHON"].strip("'")  # numpy
    return sys.executable, {**os.environ, **({"PYTHONPATH": folder} if folder else {})}


def run(command, environment, **more):
    """Exit code and output; the errors' lines only counted, since they carry times and numbers."""
    done = subprocess.run(command, env={**environment, **more}, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, len(done.stderr.splitlines())


def own_part(text):
    """What the program printed: the tool's own report comes after an empty line."""
    return [line for line in text.split("\n\n")[0].splitlines() if line]


def main():
    python, environment = find_torch()
    probe = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], env=environment, capture_output=True,
                           text=True)
    if probe.returncode != 0:
        print(f"skipped: {python} cannot import torch: run tools/setup --for torch (2.3 GB), "
              "or name a Python that can in STALLSCOPE_TORCH_PYTHON")
        return 77
    plain = run([python, "-c", ON_CPU], environment)
    beside = run([python, "-c", ON_CPU], environment, LD_PRELOAD=str(AGENT))
    assert "aten::" in plain[0], plain
    assert plain == beside, f"without the agent:\n{plain}\nwith it:\n{beside}"

    version = probe.stdout.strip()
    if not version.split("+")[-1].startswith("cu13"):
        print(f"torch {version} gives the same on the CPU; the simulated GPU serves those for CUDA 13")
        return 0
    # torch's libraries are found by RPATH, which only a preload comes before.
    stand_ins = f"{SIMULATED}/libcudart.so.13:{SIMULATED}/libcupti.so.13"
    plain = run([python, "-c", ON_GPU], environment, LD_PRELOAD=stand_ins, LD_LIBRARY_PATH=str(SIMULATED))[0]
    assert "21 kernels, 21 with a length" in plain, plain
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "torch.stallcap")
        beside = run([BUILD / "bin/stallscope", "run", "--gpu", "simulated", "--capture", capture, "--", python, "-c",
                      ON_GPU], environment, LD_PRELOAD=stand_ins)[0]
        assert own_part(beside) == own_part(plain), f"without the agent:\n{plain}\nwith it:\n{beside}"
        dump = subprocess.run([BUILD / "bin/stallscope", "dump", capture, "--format", "json"], capture_output=True,
                              text=True, check=True).stdout
    events = [json.loads(line) for line in dump.splitlines() if line.strip()]
    launches = [event for event in events if event["kind"] == "cuda" and "LaunchKernel" in event["name"]]
    kernels = [event for event in events if event["kind"] == "gpu" and event["op"] == "kernel"]
    held = [event for event in events if event["kind"] == "state" and "torch.profiler" in event.get("text", "")]
    assert len(held) == 1, held
    assert len(launches) == 51 + 21 + 31, len(launches)
    assert len(kernels) == 51 + 31, len(kernels)
    print("torch", version, "gives the same on the CPU and on the simulated GPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
