"""What a program does to memory and code on the simulated GPU is in the budget with the numbers that the program itself
counted: live bytes, churn, pools, pinning, compiled modules, functions loaded at their first use, page faults, green contexts,
names. Without CUPTI the books are kept from the calls."""
import json
import os
import pathlib

from road import BUILD, FOLDER, SIMULATED_GPU, check_budget, tool

MEMORY_CHURN = BUILD / "bin/memory_churn"
MIB = 1 << 20


def run(name, *options, level="budget", **environment):
    """The process's budget and what the program said of itself."""
    output = FOLDER / f"{name}.out"
    done = tool("run", "--json", "--level", level, "--gpu", "simulated", "--command-output", output, "--", MEMORY_CHURN, *options,
                environment={"LD_LIBRARY_PATH": f"{environment.pop('library_path', SIMULATED_GPU)}:"
                                                f"{os.environ.get('LD_LIBRARY_PATH', '')}", **environment})
    assert done.returncode == 0, (done.stdout, done.stderr)
    process = check_budget(json.loads(done.stdout))[0]
    truth = json.loads([line for line in output.read_text().splitlines() if line.startswith("{")][-1])
    return process, truth


def row(rows, key, value):
    found = [row for row in rows if row[key] == value]
    assert len(found) == 1, (key, value, rows)
    return found[0]


def check_books(process, truth):
    memory = process["memory"]
    malloc = row(memory["calls"], "name", "cudaMalloc")
    assert malloc["calls"] == truth["cudaMalloc"], (malloc, truth)
    assert malloc["total_ns"] >= truth["cudaMalloc"] * 20_000, malloc  # what one costs here
    device = row(memory["kinds"], "kind", "device")
    assert device["live_bytes"] == truth["device_live_bytes"], (device, truth)
    assert device["peak_bytes"] >= truth["device_live_bytes"] + MIB, device
    assert memory["came_and_went_bytes"] >= truth["cudaFree"] * MIB, memory
    assert row(memory["kinds"], "kind", "pinned")["live_bytes"] == 4096, memory
    assert memory["unmatched_releases"] == 0 and memory["refused"] == 0, memory


process, truth = run("churn", "--pools", "--pinning", "--modules", "--green")
check_books(process, truth)
memory = process["memory"]
registered = row(memory["kinds"], "kind", "registered")
assert registered["allocations"] == truth["registrations"] and registered["live_bytes"] == 0, registered
assert registered["allocated_bytes"] == truth["registrations"] * 2 * MIB, registered
assert len(memory["pools"]) == 1 and memory["pools"][0]["trims"] == truth["trims"], memory["pools"]
assert memory["pools"][0]["peak_reserved_bytes"] >= 4 * MIB, memory["pools"]
compiled = row(process["code_loads"], "what", "compiling PTX")
assert compiled["count"] == truth["modules"] and compiled["total_ns"] >= truth["modules"] * 5_000_000, compiled
green = [context for context in process["contexts"] if context["green"]]
assert len(green) == 1 and green[0]["multiprocessors"] == 16, process["contexts"]
assert any("green contexts share the multiprocessors" in notice for notice in process["notices"]), process["notices"]
assert row(process["names"], "kind", "stream")["name"] == "decode stream", process["names"]
assert process["lines"]["host.alloc"]["ns"] > 0, process["lines"]
assert "churner" in json.dumps(process["lines"]), "the thread has the name that it gave itself"

# A function is loaded at its first launch: said by CUPTI at level kernels, concluded at level budget.
for level, what in (("kernels", "loading a function at its first use"), ("budget", "first launches over 0.5 ms")):
    process, truth = run(f"lazy-{level}", "--steps", 50, level=level, SIMGPU_LAZY_LOAD_NS="2000000")
    loaded = row(process["code_loads"], "what", what)
    assert loaded["count"] == 6, (level, process["code_loads"])
    assert loaded["total_ns"] >= 6 * 2_000_000, loaded

# Unified memory is watched at level kernels, once there is some.
process, truth = run("managed", "--managed", "--steps", 600, "--pause-us", 1000, level="kernels", SIMGPU_MANAGED_FAULTS="3")
assert process["memory"]["unified"]["gpu_faults"] > 0, process["memory"]
assert process["memory"]["unified"]["gpu_faults"] % 3 == 0, process["memory"]
process, truth = run("managed-budget", "--managed", SIMGPU_MANAGED_FAULTS="3")
assert process["memory"]["unified"]["gpu_faults"] == 0, "it is not asked for at level budget"

# A part of a GPU.
process, truth = run("mig", "--steps", 50, SIMGPU_MIG="1", SIMGPU_SM_COUNT="16")
assert any("is a part of a GPU (MIG, GPU instance 3" in notice for notice in process["notices"]), process["notices"]

# Without CUPTI the calls keep the books.
bare = pathlib.Path(FOLDER) / "bare"
bare.mkdir()
for name in ("libcudart.so.13", "libsimgpu.so", "libcuda.so.1"):
    (bare / name).symlink_to(SIMULATED_GPU / name)
process, truth = run("bare", "--pinning", library_path=bare)
check_books(process, truth)
print("memory, code and contexts were told as they were")
