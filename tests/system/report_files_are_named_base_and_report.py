"""report -o BASE writes BASE_REPORT.csv for each table that has rows, with nsys's columns, and prints the names; JSON is one document."""
import csv
import json

from road import FOLDER, record, tool

capture = record("tables", 100)
base = FOLDER / "out"
done = tool("report", capture, "-o", base)
assert done.returncode == 0, done
assert done.stdout.split() == [f"{base}_osrt_sum.csv"], done
for missing in ("CUDA trace data", "CUDA kernel data", "GPU memory data"):
    assert f"SKIPPED: {capture} does not contain {missing}." in done.stderr, done
rows = list(csv.reader(open(f"{base}_osrt_sum.csv", newline="")))
assert rows[0] == ["Time (%)", "Total Time (ns)", "Num Calls", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Name"]
names = [row[-1] for row in rows[1:]]
assert "pthread_cond_wait" in names and "nanosleep" in names, names
totals = [int(row[1]) for row in rows[1:]]
assert totals == sorted(totals, reverse=True), totals

done = tool("report", capture, "--report", "osrtsum", "--format", "json")
assert done.returncode == 0, done
one = json.loads(done.stdout)
assert [row["Name"] for row in one] == names, done
assert [row["Total Time (ns)"] for row in one] == totals, done
done = tool("report", capture, "--format", "json")
assert json.loads(done.stdout) == {"osrt_sum": one, "cuda_api_sum": [], "cuda_gpu_kern_sum": [], "cuda_gpu_mem_time_sum": []}, done
done = tool("report", capture, "--report", "cuda_api_sum", "--format", "json")
assert json.loads(done.stdout) == [] and "SKIPPED" in done.stderr, done
assert tool("report", capture, "--report", "nosuch").returncode == 2
assert tool("report", capture, "-o", FOLDER / "no/such/folder/x").returncode == 4
