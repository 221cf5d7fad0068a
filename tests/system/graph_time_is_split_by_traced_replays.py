"""At the default level most graph replays are one record; the few that are traced node by node split gpu.graph into
classes, close to what tracing every node of every replay says, and within the cost limit: 2,500 nodes a step, 50 steps a
second. On the simulated GPU, with what CUPTI's records and callbacks cost modelled."""
import json
import os

from road import BUILD, DECODE_WORKLOAD, FOLDER, SIMULATED_GPU, check_budget, skip, tool

if not DECODE_WORKLOAD.exists():
    skip("decode_workload was not built (no nvcc)")

LAYERS = 500  # of five nodes
CLASSES = ("gpu.gemm", "gpu.attention", "gpu.moe", "gpu.norm_act", "gpu.fill", "gpu.quant", "gpu.kv_cache", "gpu.sampling",
           "gpu.other", "gpu.copy_d2d", "gpu.memset")


def shares(level, seconds):
    """Share of each class in the time of all of them, and the process's budget."""
    done = tool("run", "--json", "--level", level, "--gpu", "simulated", "--command-output", FOLDER / "output", "--", DECODE_WORKLOAD,
                "--layers", LAYERS, "--seconds", seconds, "--schedule-us", "12000",
                environment={"SIMGPU_CUPTI_RECORD_NS": "200", "SIMGPU_CUPTI_CALLBACK_NS": "100",
                             "LD_LIBRARY_PATH": f"{SIMULATED_GPU}:{os.environ.get('LD_LIBRARY_PATH', '')}"})
    assert done.returncode == 0, done
    process = check_budget(json.loads(done.stdout))[0]
    ns = {name: process["lines"].get(name, {}).get("ns", 0) for name in CLASSES}
    total = sum(ns.values())
    assert total > 0, process["lines"]
    return {name: value / total for name, value in ns.items()}, process


truth, _ = shares("nodes", 2)
estimate, process = shares("budget", 12)
assert any("gpu.graph is split by an estimate" in notice for notice in process["notices"]), process["notices"]
worst = max(CLASSES, key=lambda name: abs(truth[name] - estimate[name]))
print(f"largest difference: {worst}, {100 * truth[worst]:.1f} % traced, {100 * estimate[worst]:.1f} % estimated")
cost = process["agent"]["cost_share"]
print(f"the agent's own share of the process's CPU time: {100 * cost:.2f} %")
assert cost <= 0.01, cost
assert process["agent"]["level"] == "budget", process["agent"]
assert abs(truth[worst] - estimate[worst]) <= 0.03, (truth, estimate)
