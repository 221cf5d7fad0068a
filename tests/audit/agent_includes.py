#!/usr/bin/env python3
"""Checks what the agent's sources include: proto/wire, themselves, vendor headers where they belong, libc, and of the C++ library only
what needs no library (no allocation, no exceptions, nothing to link).

usage: agent_includes.py ROOT
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.MULTILINE)
CXX_FREESTANDING = {"atomic", "cstddef", "cstdint", "cstring", "type_traits", "utility", "new", "cstdarg", "climits", "cerrno",
                    "initializer_list", "concepts", "limits", "array", "bit", "cwchar"}
VENDOR = {  # folder of the agent -> vendor headers it alone may see
    "cuda": re.compile(r"(cuda|driver_types|vector_types|library_types|crt/|generated_cuda|cupti_(runtime|driver)_cbid).*"),
    "cupti": re.compile(r"(cupti|cuda|generated_).*"),
    "nvtx": re.compile(r"nvtx3/.*"),
    "engine": re.compile(r"$^"),
    "stacks": re.compile(r"libunwind-x86_64\.h"),
}
LIBC = re.compile(r"[a-z0-9_/]+\.h|x86intrin\.h")


def problem(folder, quote, name):
    if quote == '"':
        if name.startswith(("agent/", "proto/wire/")):
            return None
        if "/" not in name:
            return None  # a neighbour
        return "the agent includes agent/ and proto/wire/ only"
    if name in CXX_FREESTANDING:
        return None
    vendor = VENDOR.get(folder)
    if vendor and vendor.fullmatch(name):
        return None
    if re.match(r"(cuda|cupti|nvtx3/|nvToolsExt)", name):
        return f"vendor headers belong to their folder, not to agent/{folder}"
    if LIBC.fullmatch(name):
        return None
    return "neither libc nor a header-only part of the C++ library"


def sources(root):
    """The files that go into libstallscope.so: what sources.cmake names, and the agent's headers that those include."""
    pending = []
    for listing in sorted((root / "agent").glob("*/sources.cmake")):
        pending += [listing.parent / name for name in re.findall(r"[\w./]+\.cc\b", listing.read_text())]
    seen = set()
    while pending:
        path = pending.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        for quote, name in INCLUDE.findall(path.read_text()):
            if quote == '"':
                pending.append(root / name if name.startswith("agent/") else path.parent / name)
    return sorted(seen)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = sources(root)
    found = 0
    for path in files:
        folder = path.relative_to(root / "agent").parts[0]
        for quote, name in INCLUDE.findall(path.read_text()):
            what = problem(folder, quote, name)
            if what:
                found += 1
                print(f"{path.relative_to(root)}: includes {name}: {what}")
    if len(files) < 40:
        print(f"only {len(files)} files looked at: is {root} the root of the repository?")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
