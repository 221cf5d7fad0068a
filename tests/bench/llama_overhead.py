#!/usr/bin/env python3
"""What does the agent cost llama.cpp? Tokens/s with and without Stallscope, on the simulated GPU, in one run.

Plain and traced runs alternate (plain first, then traced first, ...), so that a machine that gets slower meanwhile does not
decide the answer; what is reported is the median of the pairs' ratios. Both runs ask for the same requests from a seeded
generator. "traced" is `stallscope run` with its collector in the same machine, attribution on, capture written: all that
a user pays on one host, not the agent alone.

How much work the simulated GPU makes of a kernel decides how much of the host's time shows: with the simulator's default
(2.5 us a kernel) the host's launches are the bottleneck. --kernel-us 6.2 is the median kernel of a public trace of a vLLM
decoding with graphs (on an MI300X).

usage: llama_overhead.py --build build/dev [--pairs 7] [--seconds 8] [--sequences 4] [--kernel-us 2.5] [--no-capture] [--json]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "demo"))
import engine as engines  # noqa: E402


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--kernel-us", type=float, default=2.5)
    parser.add_argument("--no-capture", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    paths = setup_paths(pathlib.Path(__file__).resolve().parents[2])
    try:
        engine = engines.LlamaCpp(paths)
        program = engine.command("cuda", arguments.sequences, 1, arguments.seconds)
    except engines.EngineMissing as missing:
        sys.exit(f"llama_overhead: {missing}")
    simulated = ":".join(filter(None, [str(build / "lib/simgpu"), os.environ.get("LD_LIBRARY_PATH", "")]))
    gpu = {"SIMGPU_KERNEL_NS": str(round(arguments.kernel_us * 1000))}
    ratios, plain_rates, traced_rates = [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        traced = [build / "bin/stallscope", "run", "--gpu", "simulated", "--quiet"]
        traced += [] if arguments.no_capture else ["--capture", pathlib.Path(scratch) / "run.stallcap"]
        traced += ["--", *program]
        for pair in range(arguments.pairs):
            rates = {}
            for kind in ("plain", "traced") if pair % 2 == 0 else ("traced", "plain"):
                if kind == "plain":
                    rates[kind] = tokens_per_second(program, {**engine.environment(), **gpu, "LD_LIBRARY_PATH": simulated})
                else:
                    rates[kind] = tokens_per_second(traced, {**engine.environment(), **gpu})
            ratios.append(rates["traced"] / rates["plain"])
            plain_rates.append(rates["plain"])
            traced_rates.append(rates["traced"])
            if not arguments.json:
                print(f"pair {pair + 1}/{arguments.pairs}: plain {rates['plain']:,.0f} tokens/s, traced {rates['traced']:,.0f}, "
                      f"ratio {ratios[-1]:.4f}", flush=True)
    result = {"engine": engine.name, "gpu": "simulated GPU", "kernel_us": arguments.kernel_us, "pairs": arguments.pairs, "seconds": arguments.seconds,
              "plain_tokens_per_s": statistics.median(plain_rates), "traced_tokens_per_s": statistics.median(traced_rates),
              "ratio_median": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios)}
    if arguments.json:
        print(json.dumps(result))
    else:
        print(f"traced/plain: median {result['ratio_median']:.4f} (min {result['ratio_min']:.4f}, max {result['ratio_max']:.4f}) "
              f"over {arguments.pairs} pairs of {arguments.seconds:g} s, {engine.name}, simulated GPU")


if __name__ == "__main__":
    main()
