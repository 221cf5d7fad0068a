"""A file that is no capture: one line, exit code 3, nothing on stdout."""
from road import FOLDER, one_line, tool

foreign = {"empty": b"", "text": b"Time (%),Total Time (ns)\n" * 50, "elf": open("/proc/self/exe", "rb").read(5000)}
for name, content in foreign.items():
    path = FOLDER / name
    path.write_bytes(content)
    for command in (("dump", path), ("report", path), ("budget", path), ("budget", path, "--json")):
        done = tool(*command)
        assert done.returncode == 3, (name, done)
        assert done.stdout == "", (name, done)
        one_line(done.stderr, str(path))
done = tool("dump", FOLDER / "nosuch.stallcap")
assert done.returncode == 3, done
one_line(done.stderr, "nosuch.stallcap")
