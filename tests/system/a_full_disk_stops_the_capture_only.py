"""A capture on a full disk: one line, the program and the budget go on, the file is valid up to there."""
import os
import subprocess

from road import FOLDER, TOKEN_LOOP, one_line, skip, tool

if os.geteuid() != 0:
    skip("needs root for a small disk of its own")
disk = FOLDER / "disk"
disk.mkdir()
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False, capture_output=True).returncode:
    skip("mounting is not allowed here")
try:
    (disk / "ballast").write_bytes(b"x" * (64 * 1024 - 4096))
    capture = disk / "full.stallcap"
    done = tool("run", "--capture", capture, "--", TOKEN_LOOP, 2000, 3)
    assert done.returncode == 3, done
    assert "token_loop: done" in done.stdout
    one_line(done.stderr, str(capture), "space")
    assert "8,000" in done.stderr, "the budget still knows every token:\n" + done.stderr
    assert tool("dump", capture).returncode == 0
finally:
    subprocess.run(["umount", disk], check=True)
