"""llama.cpp, unmodified, as a workload whose truth is known: what its steps are follows from the simulator's own account.

It tells nobody about its steps, but each of them ends when the scores that the device copied to the host have been waited
for: the first wait that ends after such a copy. A copy holds one row of scores a token.
"""
import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/demo"))
import engine  # noqa: E402  (the demo's own way to the engine and its model)


def find():
    """The engine, or None with the reason on stderr."""
    done = subprocess.run([SOURCE / "tools/setup", "--paths"], check=False, capture_output=True, text=True)
    paths = dict(line.split("=", 1) for line in done.stdout.replace("''", "").splitlines() if "=" in line)
    try:
        llama = engine.LlamaCpp(paths)
        llama.model()
        return llama
    except (engine.EngineMissing, KeyError) as missing:
        print(f"left out: llama.cpp: {missing}", file=sys.stderr)
        return None


def command(llama, sequences, tokens):
    return [llama.node, SOURCE / "tests/demo/decode.mjs", "--model", llama.model(), "--gpu", "cuda", "--sequences",
            str(sequences), "--threads", "2", "--stagger-ms", "20", "--tokens", str(tokens)]


def environment(llama):
    return {**llama.environment(), "PATH": os.environ.get("PATH", "")}


def steps(path):
    """Step lines for the truth at `path`, in the workloads' own form."""
    row_bytes = engine.VOCAB * 4
    copies, waits = [], []
    with open(path, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if line.get("op") == "copy" and line["direction"] == "d2h" and line["bytes"] % row_bytes == 0:
                copies.append(line)
            elif "wait" in line:
                waits.append(line)
    copies.sort(key=lambda copy: copy["end_ns"])
    waits.sort(key=lambda wait: wait["end_ns"])
    found, at = {}, 0
    for copy in copies:
        while at < len(waits) and (waits[at]["end_ns"] < copy["end_ns"] or waits[at]["ready_ns"] < copy["end_ns"]):
            at += 1
        if at == len(waits):
            break
        step = found.setdefault(waits[at]["end_ns"], {"step": "delivered", "tid": waits[at]["tid"],
                                                      "at_ns": waits[at]["end_ns"], "tokens": 0})
        step["tokens"] += copy["bytes"] // row_bytes
    return list(found.values())
