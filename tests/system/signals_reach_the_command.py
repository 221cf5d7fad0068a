"""run: a signal to the tool reaches the command, which may end in its own way; the report comes all the same."""
from road import FOLDER, STALLSCOPE, TOKEN_LOOP, end, start, stderr_of, wait_for

run = start(STALLSCOPE, "run", "--", TOKEN_LOOP, 0, 23, FOLDER / "twenty-steps")
wait_for((FOLDER / "twenty-steps").exists, "the program's first steps")
assert end(run) == 23, stderr_of(run)
assert "adds up" in stderr_of(run), stderr_of(run)
