"""A capture of another major version: one line with both versions, exit code 3."""
from road import FOLDER, one_line, record, tool

content = bytearray(record().read_bytes())
major = int.from_bytes(content[8:10], "little")
content[8:10] = (major + 7).to_bytes(2, "little")
later = FOLDER / "later.stallcap"
later.write_bytes(content)
done = tool("budget", later)
assert done.returncode == 3, done
one_line(done.stderr, f"{major + 7}", f"{major}.")
