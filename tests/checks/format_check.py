#!/usr/bin/env python3
"""Checks that clang-format would change nothing. Exit code 77 (skipped) where there is no clang-format.
usage: format_check.py ROOT
"""
import pathlib
import shutil
import subprocess
import sys

import tree

SUFFIXES = {".cc", ".h", ".c"}


def main():
    root = pathlib.Path(sys.argv[1])
    if not shutil.which("clang-format"):
        print("SKIPPED: clang-format is not installed")
        return 77
    names = [str(name) for name in tree.files(root) if name.suffix in SUFFIXES and name.parts[0] != "third_party"]
    if not names:
        print("no source to check")
        return 1
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *names], cwd=root, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    for name in wrong:
        print(f"{name}: clang-format would change it (clang-format -i {name})")
    if done.returncode and not wrong:
        print(done.stderr[-2000:])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
