"""run --gpu simulated: the workload runs on the simulated libraries, and every output says so."""
import json

from road import DECODE_WORKLOAD, FOLDER, SIMULATED_GPU, check_budget, skip, tool

if not DECODE_WORKLOAD.exists() or not SIMULATED_GPU.exists():
    skip("the simulated GPU or its workload is not built")
capture = FOLDER / "gpu.stallcap"
done = tool("run", "--gpu", "simulated", "--capture", capture, "--", DECODE_WORKLOAD)
assert done.returncode == 0, done
assert done.stderr.count("simulated GPU") >= 2, done.stderr
document = json.loads(tool("budget", capture, "--json").stdout)
assert document["simulated_gpu"] is True, document
process = check_budget(document)[0]
assert process["steps"] > 0 and process["tokens"] > 0, process
assert any(name.startswith("gpu.") and line["ns"] for name, line in process["lines"].items()), process["lines"]
assert "simulated GPU" in tool("budget", capture).stdout

base = FOLDER / "gpu"
files = tool("report", capture, "-o", base).stdout.split()
assert f"{base}_cuda_api_sum.csv" in files, files
