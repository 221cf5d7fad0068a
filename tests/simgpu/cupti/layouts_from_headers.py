#!/usr/bin/env python3
"""Which record layouts does each CUPTI version have? Reads NVIDIA's headers and writes, or checks, layout_table.inc.

usage: layouts_from_headers.py --cuda INCLUDE [--write FILE | --check FILE] VERSION=INCLUDE_OF_CUPTI...

The structure of each kind is named in the header's comment on the kind, its newest number is the one that counts; a small C program compiled against
the header says where its fields are. Paddings and reserved fields are left out: they are written as zero.
Exit codes: 0 as it should be; 1 the table and the headers differ; 77 no header was found to check with.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

VERSIONS = ["11.8", "12.0", "12.4", "12.6", "12.8", "12.9", "13.0"]
# Kinds that the simulated CUPTI writes, each structure once.
KINDS = ["MEMCPY", "MEMSET", "CONCURRENT_KERNEL", "RUNTIME", "DEVICE", "CONTEXT", "NAME", "MARKER", "MARKER_DATA",
         "OVERHEAD", "MEMCPY2", "CUDA_EVENT", "STREAM", "SYNCHRONIZATION", "EXTERNAL_CORRELATION", "MEMORY2",
         "MEMORY_POOL", "GRAPH_TRACE", "JIT"]
UNUSED = re.compile(r"^(pad|padding|reserved)\d*$")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def structures(include_dir):
    """Kind name -> name of its newest structure, and the text of all headers that may hold it."""
    with open(os.path.join(include_dir, "cupti_activity.h"), errors="replace") as file:
        text = file.read()
    enum = text[text.index("CUPTI_ACTIVITY_KIND_INVALID"):text.index("} CUpti_ActivityKind;")]
    entries = re.findall(r"/\*\*((?:(?!/\*\*).)*?)\*/\s*CUPTI_ACTIVITY_KIND_(\w+)\s*=", enum, re.S)
    text = without_comments(text)
    newest = {}
    for comment, kind in entries:
        named = re.findall(r"CUpti_Activity[A-Za-z]+", comment)
        if kind in KINDS and named:  # the comment's number may be an older one (Jit in 12.4 to 13.0)
            numbers = re.findall(r"\}\s*" + named[-1] + r"(\d*)\s*;", text)
            newest[kind] = named[-1] + max(numbers, key=lambda number: int(number or 1))
    return newest, text


def field_names(text, structure):
    """Top-level members: text between braces of the typedef, split at semicolons outside nested braces."""
    end = re.search(r"\}\s*" + structure + r"\s*;", text).start()
    depth, begin = 1, end
    while depth:
        begin -= 1
        depth += {"}": 1, "{": -1}.get(text[begin], 0)
    names, depth, member = [], 0, ""
    for character in text[begin + 1:end]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == ";" and depth == 0:
            found = re.search(r"(\w+)\s*(\[[^\]]*\])?\s*$", member)
            if found:
                names.append(found[1])
            member = ""
        else:
            member += character
    return [name for name in names if not UNUSED.match(name)]


def layout(cuda_dir, include_dir):
    """Kind name -> (bytes of the record, {field: (offset, bytes)})."""
    names, text = structures(include_dir)
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <cuda.h>", "#include <cupti_activity.h>",
             "int main(void) {"]
    for kind, structure in names.items():
        lines.append(f'printf("{kind} . 0 %zu\\n", sizeof({structure}));')
        for field in field_names(text, structure):
            lines.append(f'printf("{kind} {field} %zu %zu\\n", offsetof({structure}, {field}), '
                         f'sizeof((({structure}*)0)->{field}));')
    lines += ["return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w") as file:
            file.write("\n".join(lines))
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-I", include_dir, "-I", cuda_dir, source, "-o", program],
                       check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    records = {}
    for line in output.splitlines():
        kind, field, offset, size = line.split()
        record = records.setdefault(kind, [0, {}])
        if field == ".":
            record[0] = int(size)
        else:
            record[1][field] = (int(offset), int(size))
    return records


def table_lines(layouts):
    """The table restricted to the versions in `layouts`: one set of lines a version, for comparing; all for writing."""
    lines = {}
    for version, records in layouts.items():
        for kind, (size, fields) in records.items():
            lines.setdefault((KINDS.index(kind), -1, kind, "", 0, size), []).append(version)
            for field, (offset, bytes_) in fields.items():
                lines.setdefault((KINDS.index(kind), offset, kind, field, offset, bytes_), []).append(version)
    return lines


def write(layouts, path):
    with open(path, "w") as file:
        file.write("// Written by layouts_from_headers.py from NVIDIA's headers: how long each record is and where its "
                   "fields are, with\n// the versions that have it so.\n"
                   "// SIMGPU_RECORD(kind, bytes, first, last) SIMGPU_FIELD(kind, field, offset, bytes, first, last)\n")
        for key, versions in sorted(table_lines(layouts).items(), key=lambda item: (item[0], item[1])):
            _, _, kind, field, offset, size = key
            first, last = versions[0], versions[-1]
            expected = VERSIONS[VERSIONS.index(first):VERSIONS.index(last) + 1]
            assert versions == expected, f"{kind}.{field}: {versions} has a hole"
            what = f"SIMGPU_FIELD({kind}, {field}, {offset}, {size}" if field else f"SIMGPU_RECORD({kind}, {size}"
            file.write(f"{what}, {first}, {last})\n")


def read(path, versions):
    """The same lines as table_lines of the given versions, from the table."""
    lines = {}
    with open(path) as file:
        for line in file:
            if not line.startswith("SIMGPU_"):
                continue
            words = [word.strip() for word in line[line.index("(") + 1:line.rindex(")")].split(",")]
            kind, field, offset, size = (words[0], words[1], int(words[2]), int(words[3])) if len(words) == 6 else (
                words[0], "", 0, int(words[1]))
            known = VERSIONS[VERSIONS.index(words[-2]):VERSIONS.index(words[-1]) + 1]
            key = (KINDS.index(kind), offset if field else -1, kind, field, offset, size)
            lines.setdefault(key, []).extend(version for version in known if version in versions)
    return {key: found for key, found in lines.items() if found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", required=True, help="folder of cuda.h")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", metavar="FILE")
    action.add_argument("--check", metavar="FILE")
    parser.add_argument("headers", nargs="*", metavar="VERSION=INCLUDE")
    arguments = parser.parse_args()

    found = {}
    for entry in arguments.headers:
        version, _, include_dir = entry.partition("=")
        if os.path.exists(os.path.join(include_dir, "cupti_activity.h")):
            found[version] = layout(arguments.cuda, include_dir)
        else:
            print(f"left out: no CUPTI {version} headers (tools/setup --for test fetches them)")
    if not found:
        print("SKIPPED: no CUPTI headers")
        return 77
    found = {version: found[version] for version in VERSIONS if version in found}
    if arguments.write:
        assert list(found) == VERSIONS, "the table is written from the headers of all versions at once"
        write(found, arguments.write)
        return 0
    expected, actual = table_lines(found), read(arguments.check, list(found))
    for key in sorted(set(expected) | set(actual)):
        if sorted(expected.get(key, [])) != sorted(actual.get(key, [])):
            print(f"{key[2]}.{key[3]} at {key[4]}, {key[5]} bytes: headers {expected.get(key, 'no version')}, "
                  f"table {actual.get(key, 'no version')}")
    print(f"checked against the headers of {', '.join(found)}")
    return 0 if expected == actual else 1


if __name__ == "__main__":
    sys.exit(main())
