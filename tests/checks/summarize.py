#!/usr/bin/env python3
"""Adds up what tools/test ran and ends with the line 'N passed, N failed, N skipped'.

A GoogleTest binary counts with its cases, another test as one. Each failure and each skip is named with its reason.
usage: summarize.py [--junit CTEST_JUNIT_XML]... [--passed NAME]... [--failed NAME=REASON]... [--skipped NAME=REASON]...
Exit code: 0 when something ran and nothing failed.
"""
import argparse
import re
import sys
import xml.etree.ElementTree

GTEST_RAN = re.compile(r"^\[==========\] (\d+) tests? from \d+ test (?:suite|case)s? ran", re.MULTILINE)
GTEST_COUNT = {word: re.compile(rf"^\[  {word} *\] (\d+) tests?", re.MULTILINE) for word in ("PASSED", "FAILED", "SKIPPED")}
GTEST_NAME = {word: re.compile(rf"^\[  {word} *\] (\w+(?:/\w+)*\.\w+(?:/\w+)*)(?:,.*)?$", re.MULTILINE)
              for word in ("FAILED", "SKIPPED")}
# GoogleTest prints "file:line: Skipped", then the message, then the [  SKIPPED ] line of the case.
GTEST_WHY_SKIPPED = re.compile(r"^[^\n]*: Skipped\n(.*?)\n*^\[  SKIPPED \] (\w+(?:/\w+)*\.\w+(?:/\w+)*) \(", re.MULTILINE | re.DOTALL)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


class Sum:
    def __init__(self):
        self.passed = 0
        self.failed = []   # (name, reason)
        self.skipped = []  # (name, reason)

    def add_gtest(self, name, output):
        reasons = {case: " ".join(why.split())[:200] for why, case in GTEST_WHY_SKIPPED.findall(output)}
        count = GTEST_COUNT["PASSED"].search(output)
        self.passed += int(count.group(1)) if count else 0
        for case in sorted(set(GTEST_NAME["FAILED"].findall(output))):
            self.failed.append((f"{name}: {case}", "see its output above"))
        for case in sorted(set(GTEST_NAME["SKIPPED"].findall(output))):
            self.skipped.append((f"{name}: {case}", reasons.get(case, "no reason given")))

    def add_junit(self, path):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            name, status = case.get("name"), case.get("status")
            output = case.findtext("system-out") or ""
            if status == "run" and GTEST_RAN.search(output):
                self.add_gtest(name, output)
            elif status == "run":
                self.passed += 1
            elif status == "fail":
                before = len(self.failed)
                if GTEST_RAN.search(output):
                    self.add_gtest(name, output)
                if len(self.failed) == before:  # crashed, timed out, or not GoogleTest
                    failure = case.find("failure")
                    why = failure.get("message") if failure is not None else ""
                    self.failed.append((name, f"{why or 'failed'}: {last_line(output)}"))
            else:  # notrun, disabled
                self.skipped.append((name, last_line(output) if output.strip() else (status or "not run")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("junit", "passed", "failed", "skipped"):
        parser.add_argument(f"--{option}", action="append", default=[])
    arguments = parser.parse_args()
    total = Sum()
    for path in arguments.junit:
        total.add_junit(path)
    total.passed += len(arguments.passed)
    total.failed += [tuple((item + "=").split("=", 2)[:2]) for item in arguments.failed]
    total.skipped += [tuple((item + "=").split("=", 2)[:2]) for item in arguments.skipped]
    for name, reason in total.failed:
        print(f"failed   {name}: {reason}")
    for name, reason in total.skipped:
        print(f"skipped  {name}: {reason}")
    print(f"{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
