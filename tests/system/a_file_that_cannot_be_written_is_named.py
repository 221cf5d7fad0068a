"""Files that cannot be written: one line with the reason and what to do, exit code 4, and the command was not started."""
from road import FOLDER, TOKEN_LOOP, dump, one_line, record, tool

missing = FOLDER / "nosuch/folder"
for command in (("run", "--capture", missing / "x.stallcap", "--", TOKEN_LOOP, 3), ("collect", "--capture", missing / "x.stallcap"),
                ("run", "--capture", FOLDER, "--", TOKEN_LOOP, 3)):
    done = tool(*command)
    assert done.returncode == 4 and done.stdout == "", done
    one_line(done.stderr, str(command[2]), "directory")
done = tool("report", record(), "-o", missing / "base")
assert done.returncode == 4 and done.stdout == "", done
one_line(done.stderr, str(missing), "No such file or directory", "-o")

# A slip of the keyboard does not cost the model: what is no capture is not overwritten; an older capture is.
precious = FOLDER / "model.gguf"
precious.write_text("GGUF and nine gigabytes")
done = tool("run", "--capture", precious, "--", TOKEN_LOOP, 3)
assert done.returncode == 4 and done.stdout == "", done
one_line(done.stderr, str(precious), "not overwritten")
assert precious.read_text() == "GGUF and nine gigabytes"
(FOLDER / "run.stallcap").write_bytes((FOLDER / "run.stallcap").read_bytes()[:5])  # cut
assert len(dump(record(steps=20))) > 0
