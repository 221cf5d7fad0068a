"""CPython 3.12 and later with its perf trampoline (-X perf): the dump names the Python functions around a wait, and the
capture alone is enough for that."""
import ctypes.util
import glob
import json
import os
import pathlib
import shutil
import subprocess

from road import FOLDER, skip, tool

SCRIPT = pathlib.Path(__file__).parent / "programs/python_waits.py"


def with_trampoline():
    """Interpreters here that can have a perf trampoline, newest first."""
    found = {}
    candidates = [shutil.which(f"python3.{minor}") for minor in range(12, 20)]
    candidates += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for path in filter(None, candidates):
        code = "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_config_var('PY_HAVE_PERF_TRAMPOLINE'))"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        words = done.stdout.split()
        if done.returncode == 0 and int(words[0]) >= 12 and words[1] == "1":
            found[int(words[0])] = path
    return sorted(found.items(), reverse=True)


if not ctypes.util.find_library("unwind-x86_64"):
    skip("libunwind-x86_64.so.8 (Debian's libunwind8) is not installed")
interpreters = with_trampoline()
if not interpreters:
    skip("no CPython 3.12 or later with a perf trampoline is installed")
for minor, interpreter in interpreters:
    capture = FOLDER / f"python-3.{minor}.stallcap"
    done = tool("run", "--level", "stacks", "--capture", capture, "--", interpreter, "-X", "perf", SCRIPT)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in tool("dump", capture, "--format", "json").stdout.splitlines()]
    pathlib.Path(f"/tmp/perf-{lines[0]['pid']}.map").unlink()  # from here on the capture must be enough
    lines = [json.loads(line) for line in tool("dump", capture, "--format", "json").stdout.splitlines()]
    sleeps = [line for line in lines if line["kind"] == "wait" and 4e6 < line["end_ns"] - line["begin_ns"] < 4e8
              and any("wait_for_tokens" in frame for frame in line.get("frames", []))]
    assert len(sleeps) >= 10, (minor, len(sleeps), [line for line in lines if "frames" in line][:2])
    frames = sleeps[-1]["frames"]
    names = [frame.split(" ")[0] for frame in frames if "[python_waits.py]" in frame]
    print(f"CPython 3.{minor}: {' <- '.join(names)}")
    assert names[:3] == ["wait_for_tokens", "decode_step", "run_engine"], frames
