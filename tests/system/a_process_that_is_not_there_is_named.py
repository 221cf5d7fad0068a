"""--process of a pid that a capture does not hold: one line with those that it holds, exit code 3, nothing on stdout."""
from road import dump, one_line, record, tool

capture = record()
pid = dump(capture)[0]["pid"]
for command in (("budget", capture), ("budget", capture, "--json"), ("dump", capture)):
    done = tool(*command, "--process", pid + 1)
    assert done.returncode == 3 and done.stdout == "", done
    one_line(done.stderr, str(pid + 1), str(pid), str(capture))
    assert tool(*command, "--process", pid).returncode == 0, command
