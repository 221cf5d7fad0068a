"""stallscope level: a process that runs is recorded in more and less detail, as its collector tells it; what cannot be is said."""
import json

from road import BUILD, DECODE_WORKLOAD, FOLDER, SIMULATED_GPU, start, start_collector, tool, wait_for

start_collector()
program = start(DECODE_WORKLOAD, "--seconds", "40", "--sequences", "4",
                environment={"LD_PRELOAD": str(BUILD / "lib/libstallscope.so"), "LD_LIBRARY_PATH": str(SIMULATED_GPU)})


def process():
    document = json.loads(tool("top", "--once", "--json", "--window", "1s").stdout or "{}")
    return next((one for one in document.get("processes", []) if one["pid"] == program.pid), {})


def lines():
    return {name for name, line in process().get("lines", {}).items() if line["ns"] > 0}


wait_for(lambda: process().get("steps", 0) > 10, "steps are seen")
assert process()["agent"]["level"] == "budget", process()["agent"]
for level in ("kernels", "nodes", "stacks", "budget", "off", "budget"):
    done = tool("level", program.pid, level, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["level"] == level, done
    wait_for(lambda: process().get("agent", {}).get("level") == level, f"level {level} is shown")
    if level == "nodes":  # each node of the graph: no time of it is only known as a graph's
        wait_for(lambda: "gpu.gemm" in lines() and "gpu.graph" not in lines(), "nodes are told apart")
    if level == "off":
        wait_for(lambda: process().get("steps", 0) == 0, "nothing comes any more")
wait_for(lambda: process().get("steps", 0) > 10, "steps are seen again")

for arguments, code, words in (((program.pid, "everything"), 2, "everything"),
                               ((4194303, "nodes"), 4, "not connected to this collector"),
                               ((program.pid, "nodes", "--collector", FOLDER / "no.sock"), 4, "no collector listens")):
    refused = tool("level", *arguments)
    assert refused.returncode == code and words in refused.stderr, (arguments, refused)
