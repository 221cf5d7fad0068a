#!/usr/bin/env python3
"""Checks who may include whom: the data flows one way, and so do the includes.

  agent      sees proto/wire, itself, vendor headers and libc        (tests/audit holds the agent's finer rules)
  proto      sees proto
  collector  sees proto and itself; an earlier stage never includes a later one
  tools      sees proto, collector and itself
  tests      may see everything; nothing outside tests includes tests

A stage of the collector may include the stages before it in STAGES, its own files and proto. Tests beside a source
(*_test.cc, *_bench.cc) may look at any stage of the collector: they put several together.
usage: include_rules.py ROOT
"""
import pathlib
import re
import sys

# In the order in which one stage builds on another. Stages in one tuple are side branches: they may not include each
# other. windows comes before budget: it is only sums, and the analysis of a process (budget) is what fills them.
STAGES = [
    ("base",),
    ("ingest",),
    ("timeline", "symbols"),
    ("governor", "memory"),
    ("steps",),
    ("windows",),
    ("budget",),
    ("verdict",),
    ("capture",),
    ("tables",),
    ("serve", "export"),
    ("main",),
]
RANK = {stage: rank for rank, stages in enumerate(STAGES) for stage in stages}
MAY_INCLUDE = {
    "agent": {"agent", "proto"},
    "proto": {"proto"},
    "collector": {"collector", "proto"},
    "tools": {"tools", "collector", "proto"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SOURCES = {".cc", ".h", ".c", ".inc"}


def problem(path, included):
    """What is wrong when the file at `path` includes `included` (both from the root), or None."""
    source, target = path.parts, pathlib.PurePosixPath(included).parts
    if target[0] not in set(MAY_INCLUDE) | {"tests"}:
        return None  # a neighbour by bare name, a generated or a vendor header
    if target[0] not in MAY_INCLUDE[source[0]]:
        return f"{source[0]}/ may not include {target[0]}/"
    if source[0] == "agent" and target[0] == "proto" and target[1] != "wire":
        return "the agent sees proto/wire only: libprotobuf's code cannot go into the traced program"
    if source[0] == target[0] == "collector" and len(source) > 2 and len(target) > 2:
        if path.stem.endswith(("_test", "_bench")) or source[1] == target[1]:
            return None
        for stage in (source[1], target[1]):
            if stage not in RANK:
                return f"collector/{stage} is in no stage: add it to STAGES in tests/checks/include_rules.py"
        if RANK[target[1]] >= RANK[source[1]]:
            return f"stage {source[1]} comes before {target[1]}"
    return None


def problems(root):
    for top in MAY_INCLUDE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            relative = path.relative_to(root)
            if top != "tests" and path.stem.endswith(("_test", "_bench")) and top == "agent":
                continue  # a test of the agent runs outside the traced program
            text = path.read_text(errors="replace")
            for match in INCLUDE.finditer(text):
                what = problem(relative, match.group(1))
                if what:
                    line = text.count("\n", 0, match.start(1)) + 1
                    yield f'{relative}:{line}: includes "{match.group(1)}": {what}'


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(problems(root))
    print("\n".join(found) if found else "every include follows the data's way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
