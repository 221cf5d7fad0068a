"""While a thread is stuck, the live view says in which functions: top --once and its JSON."""
import ctypes.util
import json

from road import BUILD, STALLSCOPE, end, skip, start, stderr_of, tool, wait_for

if not ctypes.util.find_library("unwind-x86_64"):
    skip("libunwind-x86_64.so.8 (Debian's libunwind8) is not installed")
run = start(STALLSCOPE, "run", "--level", "stacks", "--", BUILD / "bin/known_stack", 30000, 1)


def stuck():
    done = tool("top", "--once", "--json", "--window", "10s")
    if done.returncode != 0:
        return None
    for process in json.loads(done.stdout)["processes"]:
        for blocked in process["blocked"]:
            if blocked["call"] == "pthread_mutex_lock" and blocked["where"]:
                return blocked
    return None


blocked = wait_for(stuck, "a stuck thread with its functions")
print(blocked)
assert json.loads(tool("top", "--once", "--json").stdout)["processes"][0]["agent"]["level"] == "stacks"
assert blocked["where"].startswith("engine::Scheduler::TakeNextRequest(int)"), blocked
text = tool("top", "--once").stdout
assert "in engine::Scheduler::TakeNextRequest(int)" in text, text
end(run)
