#!/usr/bin/env python3
"""The shared memory documents itself: every struct, enum, field and enumerator of proto/wire/*.h has a comment.

usage: wire_comments.py ROOT

A comment counts when it stands behind a declaration or directly above it. Several fields in one declaration share one, which is
refused: each field has its own line. What macros expand to (the table of OS calls) says what it is in its columns.
"""
import pathlib
import re
import sys

OPENING = re.compile(r"^(struct|enum class|enum|union)\b[^;]*\{(.*)$")
SECTION = re.compile(r"^//\s*---")


def problems(root):
    for path in sorted(pathlib.Path(root).glob("proto/wire/*.h")):
        name = path.relative_to(root)
        for line, what in undocumented(path.read_text().splitlines()):
            yield f"{name}:{line}: {what}"


def undocumented(lines):
    """(line number, what is missing) of one header, which clang-format has laid out."""
    kind = None  # of the braces we are in
    commented = False  # the line above was a comment
    declaration, first = "", 0  # the one we are in, and its line
    in_macro = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        was_macro, in_macro = in_macro or text.startswith("#"), (in_macro or text.startswith("#")) and text.endswith("\\")
        if was_macro or "STALLSCOPE_X" in text:
            continue
        if text.startswith("//"):
            commented = SECTION.match(text) is None
            continue
        code, _, behind = text.partition("//")
        code = code.strip()
        opening = OPENING.match(code)
        if kind is None:
            if opening:
                if not commented and not behind.strip():
                    yield number, f"no comment above: {code}"
                kind = opening.group(1).split()[0]
                if "}" in opening.group(2):
                    if re.search(r"\w", opening.group(2).split("}")[0]):
                        yield number, f"no comment for what is in it: {code}"
                    kind = None
        elif code.startswith("}"):
            kind = None
        elif code:
            declaration += " " + code
            first = first or number
            commented = commented or bool(behind.strip())
            if not code.endswith((",", ";")):
                continue
            if not commented:
                yield first, f"no comment for:{declaration}"
            if kind == "struct" and "," in re.sub(r"<[^>]*>|\([^)]*\)", "", declaration):
                yield first, f"several fields in one declaration:{declaration}"
            declaration, first = "", 0
        commented = False


def main():
    found = list(problems(sys.argv[1]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
