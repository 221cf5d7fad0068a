"""A capture on a full disk: one line, the program and the budget go on, the file is valid up to there."""
import os
import re
import subprocess

from road import FOLDER, TOKEN_LOOP, dump, one_line, skip, tool

if os.geteuid() != 0:
    skip("needs root for a small disk of its own")
disk = FOLDER / "disk"
disk.mkdir()
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "none", disk], check=False, capture_output=True).returncode:
    skip("mounting is not allowed here")
try:
    capture = disk / "full.stallcap"
    done = tool("run", "--capture", capture, "--", TOKEN_LOOP, 2000, 3)
    assert done.returncode == 3, done
    assert "token_loop: done" in done.stdout
    one_line(done.stderr, str(capture), "space")
    assert re.search(r"tokens +(7,99\d|8,000)", done.stderr), "the budget still knows every token:\n" + done.stderr
    markers = [event for event in dump(capture) if event.get("range") == "step_marker"]
    assert 0 < len(markers) < 2000, len(markers)
finally:
    subprocess.run(["umount", disk], check=True)
