"""Every subcommand's help begins with the question that it answers and ends with an example; wrong usage ends with 2."""
from road import one_line, tool

subcommands = ("run", "top", "collect", "ps", "dump", "report", "budget", "doctor", "attach", "detach",
               "level")
top = tool("--help")
assert top.returncode == 0 and top.stdout.lstrip().splitlines()[0].endswith("?"), top.stdout
for subcommand in subcommands:
    assert f"  {subcommand}" in top.stdout, subcommand
    done = tool(subcommand, "--help")
    assert done.returncode == 0, done
    lines = done.stdout.strip().splitlines()
    assert lines[0].endswith("?"), lines[0]
    assert "Example:" in lines[-2] and f"stallscope {subcommand}" in lines[-1], lines[-3:]
    assert tool(subcommand, "--no-such-option").returncode == 2, subcommand
assert tool().returncode == 2
assert tool("nosuch").returncode == 2
assert tool("--version").stdout.strip()
# What was wrong, in people's words, and where to read on.
one_line(tool("nosuch").stderr, "nosuch", "run", "doctor")
one_line(tool("top", "--no-such-option").stderr, "--no-such-option", "stallscope top --help")
for subcommand in ("report", "dump"):
    wrong = tool(subcommand, "file", "--format", "yaml")
    assert wrong.returncode == 2 and "->" not in wrong.stderr, wrong
    one_line(wrong.stderr, "yaml", "json")
    assert tool(subcommand, "file", "--format", "2").returncode == 2
for subcommand in ("top", "ps", "collect"):
    wrong = tool(subcommand, "--http", "everywhere")
    assert wrong.returncode == 2, wrong
    one_line(wrong.stderr, "everywhere", "IP:PORT", f"stallscope {subcommand} --help")
