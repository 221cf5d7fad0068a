"""doctor: the main road works here; each check has a state and a reason; a process is looked into; a missing agent ends with 4."""
import json
import os

from road import FOLDER, STALLSCOPE, TOKEN_LOOP, TOKEN_LOOP_STATIC, end, start, tool, wait_for

done = tool("doctor", "--json")
assert done.returncode == 0, done.stdout + done.stderr
document = json.loads(done.stdout)
assert document["schema"] == "stallscope.doctor/1" and document["works"] is True, document
for check in document["checks"]:
    assert check["state"] in ("ok", "warn", "missing") and check["found"], check
    assert check["state"] == "ok" or check["next"], check
assert "agent library" in tool("doctor").stdout

run = start(STALLSCOPE, "run", "--", TOKEN_LOOP, 0, 0, FOLDER / "twenty-steps")
wait_for((FOLDER / "twenty-steps").exists, "the program's first steps")
child = int(open(f"/proc/{run.pid}/task/{run.pid}/children").read().split()[0])
states = {check["name"]: check for check in json.loads(tool("doctor", child, "--json").stdout)["checks"]}
assert states["agent in it"]["state"] == "ok", states["agent in it"]
assert states["program"]["state"] == "ok", states["program"]
assert states["collector"]["found"].startswith("pid"), states["collector"]
assert end(run) == 0
plain = {check["name"]: check for check in json.loads(tool("doctor", os.getpid(), "--json").stdout)["checks"]}
assert plain["agent in it"]["state"] == "warn", plain["agent in it"]

assert tool("doctor", environment={"STALLSCOPE_AGENT": "/nonexistent.so"}).returncode == 4
if TOKEN_LOOP_STATIC.exists():
    static = start(TOKEN_LOOP_STATIC, 0)
    done = tool("doctor", static.pid)
    assert done.returncode == 4 and "static" in done.stdout, done
    end(static)
