"""A program built by nvcc (graphs, streams, events, pools, pinned memory) gets right what it copied, alone and traced."""
import json
import subprocess

from road import BUILD, ENVIRONMENT, FOLDER, SIMULATED_GPU, skip, tool

PROGRAM = BUILD / "bin/streams_and_graphs"
STEPS = 20
if not PROGRAM.exists():
    skip("streams_and_graphs was not built: there is no nvcc")

# Twice the steps plus the two replays of the built graph; one host function a step.
EXPECTED = {"steps": STEPS, "copies_checked": 2 * STEPS + 2, "host_calls": STEPS, "graph_launches": STEPS + 2}

alone = subprocess.run([PROGRAM, str(STEPS)], capture_output=True, text=True, timeout=60,
                       env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(SIMULATED_GPU)})
assert alone.returncode == 0, alone.stderr
assert json.loads(alone.stdout) == EXPECTED, alone.stdout
assert "is not simulated" not in alone.stderr, alone.stderr

traced = tool("run", "--gpu", "simulated", "--capture", FOLDER / "nvcc.stallcap", "--", PROGRAM, STEPS)
assert traced.returncode == 0, traced.stderr
assert json.loads(traced.stdout.splitlines()[0]) == EXPECTED, traced.stdout
