"""What the Python tests here share: how to run a program with the agent, and how to wait without sleeping blindly."""
import os
import subprocess
import time


class Agent:
    def __init__(self, library, folder):
        self.library, self.socket = library, os.path.join(folder, "collector.sock")

    def environment(self, **more):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("STALLSCOPE_") and name != "LD_PRELOAD"}
        return dict(clean, LD_PRELOAD=self.library, STALLSCOPE_SOCKET=self.socket, **more)

    def start(self, *command, threshold_ns=0, **options):
        return subprocess.Popen(command, env=self.environment(STALLSCOPE_WAIT_THRESHOLD_NS=str(threshold_ns)),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def wait_until(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"not within {seconds} s: {what}")
