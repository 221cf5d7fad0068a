#!/usr/bin/env python3
"""Checks that every path that the documents name in backticks exists, so that a moved file cannot leave them behind.

A word in backticks counts as a path when it begins with one of the repository's top folders, or is one of its files.
Placeholders in <> or with * are patterns: something must match. Paths under build/ are made by the build and not checked.
usage: docs_paths.py ROOT [DOCUMENT...]      (default: the documents in DOCUMENTS)
"""
import pathlib
import re
import sys

DOCUMENTS = ["README.md", "docs/life-of-an-event.md", "docs/recipes.md", "docs/json.md"]
TOP = ("agent/", "proto/", "collector/", "tools/", "tests/", "docs/", "cmake/", ".ci/")
WORD = re.compile(r"`([^`\s]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def problems(root, documents):
    for document in documents:
        if not (root / document).is_file():
            yield f"{document}: missing"
            continue
        text = (root / document).read_text()
        # Fenced blocks are commands and sketches; blanked line by line so that line numbers stay.
        text = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
        for match in WORD.finditer(text):
            word = match.group(1)
            if not word.startswith(TOP):
                continue
            pattern = re.sub(r"<[^>]*>|NNNN", "*", word.split(":")[0]).rstrip("/")
            alternatives = [pattern]
            braces = re.search(r"\{([^}]*)\}", pattern)
            if braces:
                alternatives = [pattern.replace(braces.group(0), part) for part in braces.group(1).split(",")]
            for alternative in alternatives:
                found = any(True for _ in root.glob(alternative)) if "*" in alternative else (root / alternative).exists()
                if not found:
                    line = text.count("\n", 0, match.start()) + 1
                    yield f"{document}:{line}: `{alternative}` does not exist"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(problems(root, sys.argv[2:] or DOCUMENTS))
    print("\n".join(found) if found else "every path that the documents name exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
