"""A capture that was cut: a warning on stderr, what is whole on stdout, exit code 0."""
from road import FOLDER, dump, one_line, record, tool

capture = record("whole", 300)
whole = dump(capture)
content = capture.read_bytes()
cut = FOLDER / "cut.stallcap"
for size in (len(content) - 1, len(content) * 3 // 4, 40):
    cut.write_bytes(content[:size])
    for command in (("dump", cut), ("report", cut), ("budget", cut, "--json")):
        done = tool(*command)
        assert done.returncode == 0, (size, done)
        one_line(done.stderr, str(cut), "cut")
    assert len(dump(cut)) <= len(whole)

# Cut before any process had connected: that is said, not shown as an empty budget.
cut.write_bytes(content[:40])
done = tool("budget", cut)
assert done.stdout == "", done
one_line(done.stderr, "no process", str(cut))
