"""A collector that is killed mid-run: the program goes on to its end, the tool says so, what was received is in the capture."""
import signal

from road import (DEFAULT_SOCKET, FOLDER, STALLSCOPE, TOKEN_LOOP, dump, end, one_line, start, start_collector, stderr_of, tool,
                  wait_for)

capture = FOLDER / "killed.stallcap"
collector = start_collector("--capture", capture)
run = start(STALLSCOPE, "run", "--collector", DEFAULT_SOCKET, "--", TOKEN_LOOP, 0, 5, FOLDER / "twenty-steps")
wait_for((FOLDER / "twenty-steps").exists, "the program's first steps")
received = wait_for(lambda: capture.stat().st_size > 100 and capture.stat().st_size, "bytes in the capture")
end(collector, signal.SIGKILL)
wait_for(lambda: "is gone" in stderr_of(run), "the tool to notice")
assert run.poll() is None, "the program ended with the collector"
assert end(run) == 5, stderr_of(run)
one_line(stderr_of(run), "is gone", str(DEFAULT_SOCKET))
assert capture.stat().st_size >= received
kinds = {event["kind"] for event in dump(capture)}
assert {"process", "thread", "wait"} <= kinds, kinds
assert tool("budget", capture).returncode == 0
