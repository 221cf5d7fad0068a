"""Files that cannot be written: one line with the reason and what to do, exit code 4, and the command was not started."""
from road import FOLDER, TOKEN_LOOP, one_line, record, tool

missing = FOLDER / "nosuch/folder"
for command in (("run", "--capture", missing / "x.stallcap", "--", TOKEN_LOOP, 3), ("collect", "--capture", missing / "x.stallcap"),
                ("run", "--capture", FOLDER, "--", TOKEN_LOOP, 3)):
    done = tool(*command)
    assert done.returncode == 4 and done.stdout == "", done
    one_line(done.stderr, str(command[2]), "directory")
done = tool("report", record(), "-o", missing / "base")
assert done.returncode == 4 and done.stdout == "", done
one_line(done.stderr, str(missing), "No such file or directory", "-o")
