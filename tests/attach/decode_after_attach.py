"""Attached to a decode loop that has used CUDA for a while: its steps and tokens appear, GPU work too; gone after a detach."""
import json
import time

from subjects import FOLDER, SIMULATED_GPU, attach, detach, start, tool, wait_for
from road import DECODE_WORKLOAD, check_budget, end, start_collector

socket = FOLDER / "decode.sock"
collector = start_collector("--listen", socket, "--http", "127.0.0.1:0")
process = start(DECODE_WORKLOAD, "--sequences", 4, "--seconds", 60, "--json",
                environment={"LD_LIBRARY_PATH": str(SIMULATED_GPU)})
time.sleep(2)
document = attach(process.pid, "--collector", socket)
assert document["streaming"] and document["slots"] > 0, document


def report(window="all"):
    done = tool("top", "--once", "--json", "--collector", socket, "--window", window)
    if done.returncode != 0:
        return None
    return next((one for one in check_budget(json.loads(done.stdout)) if one["pid"] == process.pid and one["steps"] > 50), None)


found = wait_for(report, "steps of the decode loop", 30)
assert found["tokens"] > 50 and "imulated" in found["gpu"], found
gpu_ns = sum(line["ns"] for name, line in found["lines"].items() if name.startswith("gpu."))
assert gpu_ns > 0, found["lines"]
print(f"{found['steps']} steps, {found['tokens']} tokens ({found['tokens_source']}), {gpu_ns / 1e6:.1f} ms of GPU work")
detach(process.pid)


def events():
    rows = json.loads(tool("ps", "--json", "--collector", socket).stdout)["processes"]
    return next(row["events"] for row in rows if row["pid"] == process.pid)


time.sleep(1.5)  # what was on its way has come in, and the collector's own samples have ended
before = events()
time.sleep(1)
assert events() == before, "it still sends"
assert process.poll() is None
# And once more: CUPTI is taken again.
attach(process.pid, "--collector", socket)


def gpu_again():
    rows = tool("top", "--once", "--json", "--collector", socket, "--window", "2s")
    reports = check_budget(json.loads(rows.stdout)) if rows.returncode == 0 else []
    return [one for one in reports if one["pid"] == process.pid and one["steps"] > 20 and
            sum(line["ns"] for name, line in one["lines"].items() if name.startswith("gpu.")) > 0]


wait_for(gpu_again, "GPU work after the second attach", 30)
end(process)
end(collector)
