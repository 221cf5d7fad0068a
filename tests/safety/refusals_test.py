#!/usr/bin/env python3
"""A program of another C library is refused by `stallscope run`, in a line that says why and what to do; it is not run half.

usage: refusals_test.py STALLSCOPE MUSL_C
"""
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    stallscope, source = sys.argv[1:3]
    compiler = shutil.which("musl-gcc")
    if not compiler:
        print("skipped: no musl-gcc (Debian: musl-tools)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "musl")
        subprocess.run([compiler, "-O1", source, "-o", program], check=True)
        plain = subprocess.run([program], capture_output=True, text=True)
        assert (plain.returncode, plain.stdout) == (5, "musl\n"), plain
        done = subprocess.run([stallscope, "run", "--", program], capture_output=True, text=True, timeout=60)
        print(done.stderr.strip())
        assert done.returncode not in (0, 5) and "musl" in done.stderr and done.stdout == "", done
        assert done.stderr.count("\n") == 1, "one line"
    return 0


if __name__ == "__main__":
    sys.exit(main())
