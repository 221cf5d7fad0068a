#!/usr/bin/env python3
"""Ranges of a program linked to NVTX 2's library arrive, and a tool that was configured first gets them as before.

Needs libnvToolsExt.so.1, which tools/setup --for test fetches.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["STALLSCOPE_BUILD"])
TEXT = "execute_context_1(512)_generation_31(31)"


def program(library, capture=None, tool=None):
    """The program's own output, and how many of its ranges are in the capture."""
    command = [str(BUILD / "bin/nvtx2_ranges"), str(library)]
    if capture is not None:
        command = [str(BUILD / "bin/stallscope"), "run", "--capture", capture, "--"] + command
    environment = {**os.environ, **({"NVTX_INJECTION64_PATH": str(tool)} if tool is not None else {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith(("push", "pop", "tool:"))]
    if capture is None:
        return said, None
    dump = subprocess.run([BUILD / "bin/stallscope", "dump", capture], capture_output=True, text=True, check=True).stdout
    return said, sum(TEXT in line for line in dump.splitlines())


def main():
    paths = dict(line.split("=", 1) for line in subprocess.run(
        [ROOT / "tools/setup", "--paths"], capture_output=True, text=True, check=True).stdout.splitlines())
    library = pathlib.Path(paths["STALLSCOPE_CACHE"]) / "nvtx2/nvidia/nvtx/lib/libnvToolsExt.so.1"
    if not library.exists():
        print("skipped: no libnvToolsExt.so.1: run tools/setup --for test")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "nvtx.stallcap")
        said, ranges = program(library, capture)
        assert ranges == 5 and said == ["push 0", "pop 0"] * 5, (said, ranges)

        tool = BUILD / "lib/libnvtx2_tool.so"
        alone, _ = program(library, tool=tool)
        said, ranges = program(library, capture + "2", tool)
        assert f"tool: push {TEXT}" in alone and "push 40" in alone, alone
        assert said == alone and ranges == 5, (said, alone, ranges)

        # A tool that knows NVTX 1 alone cannot be called on: it keeps what it had.
        tool = BUILD / "lib/libnvtx1_tool.so"
        alone, _ = program(library, tool=tool)
        said, ranges = program(library, capture + "1", tool)
        assert "tool: version 1" in alone and said == alone and ranges == 0, (said, alone, ranges)
    return 0


if __name__ == "__main__":
    sys.exit(main())
