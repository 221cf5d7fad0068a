"""run --collector with nobody there: the tool says so, the program runs on and its exit code passes."""
from road import FOLDER, TOKEN_LOOP, one_line, tool

missing = FOLDER / "nobody.sock"
done = tool("run", "--collector", missing, "--", TOKEN_LOOP, 20, 7)
assert done.returncode == 7, done
assert "token_loop: done" in done.stdout, done
one_line(done.stderr, "no collector", str(missing), "stallscope collect")
