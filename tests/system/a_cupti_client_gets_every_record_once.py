"""8 threads x 2,000 launches through the simulated CUPTI: every record arrives once with its correlation id."""
import json
import subprocess

from road import BUILD, ENVIRONMENT, SIMULATED_GPU, skip

PROGRAM = BUILD / "bin/every_record_once"
if not PROGRAM.exists():
    skip("every_record_once was not built: there is no nvcc")

done = subprocess.run([PROGRAM, "8", "2000"], capture_output=True, text=True, timeout=100,
                      env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(SIMULATED_GPU)})
assert done.returncode == 0, done.stderr
counts = json.loads(done.stdout)
assert counts == {"launches": 16000, "api_records": 16000, "kernel_records": 16000, "callbacks": 16000,
                  "dropped": 0}, counts
