"""run: a command that does not exist is one line and exit code 2."""
from road import one_line, tool

for command in ("no-such-command-anywhere", "/nonexistent/program"):
    done = tool("run", "--", command)
    assert done.returncode == 2, done
    one_line(done.stderr, command)
assert tool("run").returncode == 2
assert tool("run", "--").returncode == 2
