"""The four tables of a run of reference_story say what was published, in proportion to its length.

  story_tables_test.py SCALE

Asserted always: each published row is there with its exact count; the device's tables, which are simulated time, also
have the published totals within 5 %. The host's tables are times of this machine: their totals are held to 5 % where
the run was not very short of processor time (the executor waited less than three tenths of its time for a core) and the
run is long enough that single waits do not weigh (SCALE at least 0.5); else they are printed and not judged.
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["STALLSCOPE_BUILD"])
TOLERANCE = 0.05
MOST_RUN_DELAY = 0.3
LONG_ENOUGH = 0.5
DEVICE_TABLES = {"cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum"}
COUNT_COLUMNS = ("Num Calls", "Instances", "Count")


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stderr[-1000:]}"
    return done.stdout


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    count = next(column for column in COUNT_COLUMNS if column in rows[0])
    name = "Name" if "Name" in rows[0] else "Operation"
    return [(row[name].strip(), int(row[count]), int(row["Total Time (ns)"])) for row in rows]


def main(scale):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stallscope-story-"))
    failures = []
    try:
        environment = {**{name: value for name, value in os.environ.items() if not name.startswith("STALLSCOPE_")},
                       "XDG_RUNTIME_DIR": str(folder)}
        story = [BUILD / "bin/reference_story", "--scale", str(scale)]
        run([BUILD / "bin/stallscope", "run", "--gpu", "simulated", "--level", "nodes", "--quiet", "--capture",
             folder / "story.stallcap", "--command-output", folder / "output", "--", *story], environment)
        said = json.loads((folder / "output").read_text(encoding="utf-8"))
        run([BUILD / "bin/stallscope", "report", folder / "story.stallcap", "-o", folder / "story"], environment)
        expected = json.loads(run([*story, "--expect"],
                                  {**environment, "LD_LIBRARY_PATH": str(BUILD / "lib/simgpu")}))
        judged = said["run_delay_share"] < MOST_RUN_DELAY and scale >= LONG_ENOUGH
        print(f"executor's run delay {100 * said['run_delay_share']:.1f} %: host totals are "
              f"{'held to' if judged else 'printed, not held to'} {100 * TOLERANCE:.0f} %")
        assert said["steps"] == expected["steps"], f"{said['steps']} steps instead of {expected['steps']}"
        for table in ("cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "osrt_sum"):
            found = rows_of(folder / f"story_{table}.csv")
            for want in expected[table]:
                kernel = table == "cuda_gpu_kern_sum"
                row = next((r for r in found if (want["name"] in r[0] if kernel else want["name"] == r[0])), None)
                if row is None:
                    failures.append(f"{table} lacks {want['name']}")
                    continue
                error = row[2] / want["total_ns"] - 1
                hold = table in DEVICE_TABLES or judged
                print(f"{table:22}{want['name'][:34]:36}{row[1]:8} of {want['count']:8}{row[2] / 1e9:12.3f} s "
                      f"{100 * error:+7.2f} %")
                if row[1] != want["count"]:
                    failures.append(f"{table} {want['name']}: {row[1]} instead of {want['count']}")
                if hold and abs(error) > TOLERANCE:
                    failures.append(f"{table} {want['name']}: total is {100 * error:+.1f} % off")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
