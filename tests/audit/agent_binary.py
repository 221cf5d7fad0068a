#!/usr/bin/env python3
"""Checks libstallscope.so as a binary: what it needs, exports and takes from the program it is loaded into.

usage: agent_binary.py LIBRARY EXPORTS_ALLOW_LIST OS_CALLS_H
  OS_CALLS_H  the table of OS calls: what its rows name must be exported, and may be
"""
import re
import subprocess
import sys

NEWEST_GLIBC = (2, 34)
MOST_TLS_BYTES = 64
MAY_NEED = {"libc.so.6", "ld-linux-x86-64.so.2"}
# The version nodes that the agent defines itself carry glibc's names; they are not needs.
# What agent/entry/early_calls.cc can do in the loader's place, twice if need be (thread-local variables wait for the loader).
RELOCATIONS = {"R_X86_64_RELATIVE", "R_X86_64_JUMP_SLOT", "R_X86_64_GLOB_DAT", "R_X86_64_TPOFF64"}
WEAK_BY_TOOLCHAIN = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__gmon_start__"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-dW", library)))


def symbols(library):
    """(kind letter, name with version) of the dynamic symbol table."""
    for line in run("nm", "-D", library).splitlines():
        parts = line.split()
        yield (parts[-2], parts[-1])


def tls_bytes(library):
    for line in run("readelf", "-lW", library).splitlines():
        fields = line.split()
        if fields and fields[0] == "TLS":
            return int(fields[5], 16)
    return 0


def table_symbols(os_calls_h):
    """What the rows of the table export, with versions where they have them."""
    text = open(os_calls_h).read()
    table = text[text.index("#define STALLSCOPE_OS_CALLS(X)"):text.index("#define STALLSCOPE_OS_CALLS_LEFT_ALONE(X)")]
    rows = re.findall(r'X\(\s*k\w+,\s*"\w+",\s*k\w+,\s*k\w+,\s*k\w+,[\s\\]*"([^"]+)"', table)
    assert len(rows) == table.count("X(k"), "a row of the table does not read like the others"
    return {symbol for row in rows for symbol in row.split()}


def problems(library, allow_list, os_calls_h):
    for name in sorted(needed(library) - MAY_NEED):
        yield f"NEEDED {name}: only libc may be needed"
    patterns = [line.strip() for line in open(allow_list) if line.strip() and not line.startswith("#")]
    allowed = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    exported, hooks = set(), table_symbols(os_calls_h)
    for kind, name in symbols(library):
        if kind == "U" or kind == "w":
            version = re.search(r"@GLIBC_(\d+)\.(\d+)", name)
            if version and tuple(map(int, version.groups())) > NEWEST_GLIBC:
                yield f"{name}: newer than GLIBC_{'.'.join(map(str, NEWEST_GLIBC))}"
            if not version and name not in WEAK_BY_TOOLCHAIN:
                yield f"{name}: undefined without a version, so not from libc"
        else:
            exported.add(name)
            if not allowed.fullmatch(name) and name not in hooks:
                yield f"{name}: exported, but neither in {allow_list} nor in {os_calls_h}"
    for name in sorted(hooks - exported):
        yield f"{name}: in {os_calls_h}, but not exported: nothing is hooked"
    tls = tls_bytes(library)
    if tls == 0 or tls > MOST_TLS_BYTES:
        yield f"static TLS is {tls} bytes, must be 1 to {MOST_TLS_BYTES}"
    dynamic = run("readelf", "-dW", library)
    for flag in ("NOW", "NODELETE"):
        if not re.search(rf"FLAGS.*\b{flag}\b", dynamic):
            yield f"linked without {flag}"
    for kind in sorted(set(re.findall(r"\bR_X86_64_\w+", run("readelf", "-rW", library))) - RELOCATIONS):
        yield f"has relocations of kind {kind}, which the agent cannot do itself"
    if "(RELR)" in dynamic:
        yield "has packed relocations, which must not be done twice"
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    if re.search(r"GNU_STACK.*RWE", run("readelf", "-lW", library)):
        yield "asks for an executable stack"


def main():
    found = list(problems(*sys.argv[1:4]))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
