#!/usr/bin/env python3
"""What does the agent cost llama.cpp? Tokens/s with and without Stallscope, on the simulated GPU, in one run.

In each round every kind of run is made once, forwards in one round and backwards in the next, so that a machine that gets
slower meanwhile does not decide the answer. All runs ask for the same requests from a seeded generator. The ratio is the
mean over the rounds of traced to plain in the same round; single runs scatter by some percent, so it is given with the
interval in which it lies with 95 % (bootstrap over the rounds).

Kinds, beside the plain program:
  run       `stallscope run` with its collector on the same machine, attribution on, capture written: all that a user pays
  live      the same without a capture
  agent     the agent and CUPTI, no collector

How much work the simulated GPU makes of a kernel decides how much of the host's time shows. 25.1 us, unless told, is the
mean of the kernels of a public trace of a vLLM decoding with graphs on an MI300X (of a Qwen model decoding on an H100: 31.0,
median 29.1). 6.2 us is the median of the first. With the simulator's default (2.5 us) the host's launches are the bottleneck
of this tiny model: the worst case.

usage: llama_overhead.py --build build/dev [--rounds 20] [--seconds 3] [--sequences 4] [--kernel-us 25.1] [--kinds run] [--json]
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "demo"))
import engine as engines  # noqa: E402

KINDS = ("run", "live", "agent")
RESAMPLES = 4000


def setup_paths(root):
    """What `tools/setup --paths` says, as a dictionary."""
    lines = subprocess.run([root / "tools/setup", "--paths"], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def tokens_per_second(command, environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    counts = engines.counts(done.stdout)
    if done.returncode or "tokens_per_s" not in counts:
        sys.exit(f"llama_overhead: {command[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return counts["tokens_per_s"]


def ratio_and_interval(traced, plain):
    """The mean of the rounds' ratios, and the middle 95 % of what it is over rounds drawn with replacement."""
    draw = random.Random(1)
    ratios = [ours / theirs for ours, theirs in zip(traced, plain)]
    means = sorted(statistics.mean(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return statistics.mean(ratios), means[RESAMPLES // 40], means[-RESAMPLES // 40 - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--kernel-us", type=float, default=25.1)
    parser.add_argument("--kinds", default="run", help=f"some of {','.join(KINDS)}, with commas between")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"unknown kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    build = arguments.build.resolve()
    paths = setup_paths(pathlib.Path(__file__).resolve().parents[2])
    try:
        engine = engines.LlamaCpp(paths)
        program = engine.command("cuda", arguments.sequences, 1, arguments.seconds)
    except engines.EngineMissing as missing:
        sys.exit(f"llama_overhead: {missing}")
    environment = {**engine.environment(), "SIMGPU_KERNEL_NS": str(round(arguments.kernel_us * 1000))}
    simulated = {**environment,
                 "LD_LIBRARY_PATH": ":".join(filter(None, [str(build / "lib/simgpu"), os.environ.get("LD_LIBRARY_PATH", "")]))}
    with tempfile.TemporaryDirectory() as scratch:
        run = [build / "bin/stallscope", "run", "--gpu", "simulated", "--quiet"]
        capture = ["--capture", pathlib.Path(scratch) / "run.stallcap"]
        runs = {"plain": (program, simulated),
                "run": ([*run, *capture, "--", *program], environment),
                "live": ([*run, "--", *program], environment),
                "agent": (program, {**simulated, "LD_PRELOAD": str(build / "lib/libstallscope.so"),
                                    "STALLSCOPE_SOCKET": str(pathlib.Path(scratch) / "nobody")})}
        rates = {kind: [] for kind in ["plain", *kinds]}
        for number in range(arguments.rounds):
            for kind in list(rates) if number % 2 == 0 else reversed(list(rates)):
                rates[kind].append(tokens_per_second(*runs[kind]))
            if not arguments.json:
                print(f"round {number + 1}/{arguments.rounds}: "
                      + ", ".join(f"{kind} {of_kind[-1]:,.0f} tokens/s" for kind, of_kind in rates.items()), flush=True)
    result = {"engine": engine.name, "gpu": "simulated GPU", "kernel_us": arguments.kernel_us, "rounds": arguments.rounds,
              "seconds": arguments.seconds, "sequences": arguments.sequences, "kinds": {}}
    for kind, of_kind in rates.items():
        ratio, low, high = ratio_and_interval(of_kind, rates["plain"])
        result["kinds"][kind] = {"tokens_per_s": statistics.median(of_kind), "ratio": ratio, "ratio_95": [low, high]}
        if not arguments.json:
            print(f"{kind:6} {statistics.median(of_kind):9,.0f} tokens/s  ratio {ratio:.4f}  (95 %: {low:.4f} to {high:.4f})")
    if arguments.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
