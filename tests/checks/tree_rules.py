#!/usr/bin/env python3
"""Checks what holds for every file of the repository.

  - no path of one machine (a home folder, a checkout's place) and no package registry's host: the tree works anywhere
  - no source file above 600 lines; no file or folder that says nothing (utils, common, helpers, misc)
usage: tree_rules.py ROOT
"""
import pathlib
import re
import sys

import tree

MAX_SOURCE_LINES = 600
SOURCES = {".cc", ".h", ".c", ".inc", ".py", ".mjs", ".sh", ".cu"}
SAYS_NOTHING = {"utils", "util", "common", "helpers", "helper", "misc"}

# Written so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w$}~.])/(?:root|work|home/[a-z]\w*)/[\w.]")
REGISTRY_HOST = re.compile(r"\b(?:registry|pypi|index|deb|files|proxy|crates)\.[\w.-]*\b(?:npmjs|python|pypi|pythonhosted|debian|golang|crates)\b[\w.-]*|\b(?:pypi|npmjs|crates|pythonhosted)\.(?:org|com|io)\b")


def problems(root):
    for name, text in tree.text_files(root):
        for pattern, what in ((MACHINE_PATH, "a path of one machine"), (REGISTRY_HOST, "a package registry's host")):
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: {what}: {match.group(0)}"
        lines = text.count("\n")
        if name.suffix in SOURCES and lines > MAX_SOURCE_LINES:
            yield f"{name}: {lines} lines; split it by idea (at most {MAX_SOURCE_LINES})"
    for name in tree.files(root):
        for part in (*name.parts[:-1], name.stem):
            if part.lower() in SAYS_NOTHING:
                yield f"{name}: the name {part} says nothing about what is inside"


def main():
    found = sorted(set(problems(pathlib.Path(sys.argv[1]))))
    print("\n".join(found) if found else "no machine's paths, no registry's hosts, no overlong file")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
