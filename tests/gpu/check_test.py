"""The check's rehearsal on the simulated GPU: every question has an answer or a reason, and the report says simulated."""
import json
import os
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "answers.json")
    done = subprocess.run([os.path.join(source, "tests/gpu/check"), "--build", build, "--simulated", "--quick", "--out", out],
                          capture_output=True, text=True, timeout=170)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.returncode
    report = json.load(open(out))
assert report["simulated"] is True and "Simulated GPU" in report["device"], report["device"]
assert "assumptions, not measurements" in done.stdout
answers = report["answers"]
# What the simulated GPU must be able to answer; the static runtime and PyTorch may be missing, with a reason.
for name in ("device", "launch_callbacks", "driver_correlation_ids", "external_ids_in_callbacks",
             "flush_beside_unfinished_work", "implicit_synchronization_records", "graph_trace", "clocks", "over_wait_spin",
             "over_wait_yield", "over_wait_block", "over_wait_event", "over_wait_blocking_event", "detail_cost_graph",
             "detail_cost_eager"):
    assert "answer" in answers[name], f"{name}: {answers[name]}"
for name, answer in answers.items():
    assert "answer" in answer or answer["not_answered"], name
assert answers["graph_trace"]["answer"]["suppresses_node_records"] is True
assert len(answers["detail_cost_graph"]["answer"]["levels"]) == 6
# Without a GPU and without the simulated one, each question says why it has no answer.
done = subprocess.run([os.path.join(build, "bin", "gpu_probe"), "no_such_question"], capture_output=True, text=True,
                      env=dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, "lib", "simgpu")))
assert done.returncode == 2 and "questions are:" in done.stderr
