"""Each member of each JSON document that the tools print stands in docs/json.md."""
import json
import pathlib
import re

from road import DECODE_WORKLOAD, FOLDER, TOKEN_LOOP, STALLSCOPE, end, start, start_collector, tool, wait_for

text = (pathlib.Path(__file__).resolve().parents[2] / "docs/json.md").read_text()
documented = set(re.findall(r'["`](\w+)["`]', text))
NAMES_AS_KEYS = ("lines", "causes")  # their members are names of lines and of counters


def members(value):
    if isinstance(value, list):
        for element in value:
            yield from members(element)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from members(list(inner.values()) if name in NAMES_AS_KEYS else inner)


def check(what, output):
    missing = {name for line in output.splitlines() for name in members(json.loads(line))} - documented
    assert not missing, f"{what}: docs/json.md says nothing of {sorted(missing)}"


capture = FOLDER / "run.stallcap"
done = tool("run", "--json", "--gpu", "simulated", "--capture", capture, "--", DECODE_WORKLOAD, "--steps", "100")
assert done.returncode == 0, done.stderr
check("budget", tool("budget", capture, "--json").stdout)
check("dump", tool("dump", capture, "--format", "json").stdout)
check("doctor", json.dumps(json.loads(tool("doctor", "--json").stdout)))

collector = start_collector()
run = start(STALLSCOPE, "run", "--quiet", "--collector", FOLDER / "stallscope/collector.sock", "--", TOKEN_LOOP, 0)
pid = wait_for(lambda: [process["pid"] for process in json.loads(tool("ps", "--json").stdout)["processes"]], "the program")[0]
check("ps", tool("ps", "--json").stdout)
check("top", tool("top", "--once", "--json").stdout)
for command in (("level", pid, "budget", "--json"), ("detach", pid, "--json"), ("attach", pid, "--json")):
    done = tool(*command)
    if done.returncode == 0:  # stopping a program is not allowed everywhere
        check(command[0], json.dumps(json.loads(done.stdout)))
end(run)
end(collector)
