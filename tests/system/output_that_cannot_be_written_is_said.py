"""A result that cannot be written (full disk): one line and exit code 4, not silence; of run the code stays the command's."""
import subprocess

from road import ENVIRONMENT, STALLSCOPE, one_line, record

capture = record()
for command in (("budget", capture), ("budget", capture, "--json"), ("report", capture), ("dump", capture), ("doctor",)):
    with open("/dev/full", "w") as full:
        done = subprocess.run([STALLSCOPE, *command], stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                              check=False, timeout=50)
    assert done.returncode == 4, (command, done)
    one_line(done.stderr, "could not be written")
with open("/dev/full", "w") as full:
    done = subprocess.run([STALLSCOPE, "run", "--json", "--", "true"], stdout=full, stderr=subprocess.PIPE, text=True,
                          env=ENVIRONMENT, check=False, timeout=50)
assert done.returncode == 0, done
one_line(done.stderr, "could not be written")
