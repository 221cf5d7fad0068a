"""run --collector with nobody there: the tool says so, the program runs on and its exit code passes."""
import os
import subprocess

from road import DEFAULT_SOCKET, ENVIRONMENT, FOLDER, STALLSCOPE, TOKEN_LOOP, end, one_line, start_collector, tool

missing = FOLDER / "nobody.sock"
done = tool("run", "--collector", missing, "--", TOKEN_LOOP, 20, 7)
assert done.returncode == 7, done
assert "token_loop: done" in done.stdout, done
one_line(done.stderr, "no collector", str(missing), "stallscope collect")

# Another user's collector is there and out of reach: that is said in place of "nobody listens".
if os.geteuid() == 0 and subprocess.run([TOKEN_LOOP, "1"], user=65534, check=False, capture_output=True).returncode == 0:
    collector = start_collector()
    done = subprocess.run([STALLSCOPE, "run", "--collector", DEFAULT_SOCKET, "--", TOKEN_LOOP, "3", "7"], user=65534, group=65534,
                          env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 7 and "token_loop: done" in done.stdout, done
    one_line(done.stderr, "another user's", str(DEFAULT_SOCKET), "stallscope collect")
    assert end(collector) == 0
