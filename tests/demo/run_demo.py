#!/usr/bin/env python3
"""The runs behind tools/demo: an inference engine under `stallscope run`, then what was found about it.

First the engine's CUDA backend, on a real GPU or the simulated one; then the same engine on its CPU backend, where the
host-side lines are the story. Called by tools/demo once everything is set up and built; prints text for people, or with
--json one document:

{"schema": "stallscope.demo/1", "seconds", "runs": [{"name": "cuda"|"cpu", "engine", "simulated_gpu", "exit_code",
 "interrupted", "engine_counts": what the engine printed about itself, "budget": schema stallscope.budget/1,
 "adds_up": for every process the lines sum to its wall time, "capture": path, "tables": [paths]}], "notes": [...]}

Exit codes: 0 both runs found decode steps and every budget adds up; 1 not so; 130 interrupted.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys

import engine as engines
import gpu

SEQUENCES = 4


class Interrupt:
    """Ctrl-C reaches the engine as well (same terminal): it stops decoding, and we report what there is."""

    def __init__(self):
        self.seen = False
        signal.signal(signal.SIGINT, self.note)
        signal.signal(signal.SIGTERM, self.note)

    def note(self, *_):
        self.seen = True


class Demo:
    def __init__(self, arguments):
        self.build = pathlib.Path(arguments.build)
        self.out = pathlib.Path(arguments.out)
        self.seconds = arguments.seconds
        self.json = arguments.json
        self.stallscope = self.build / "bin/stallscope"
        self.interrupt = Interrupt()
        self.notes = []
        self.out.mkdir(parents=True, exist_ok=True)

    def say(self, text=""):
        if not self.json:
            print(text, flush=True)

    def note(self, text):
        self.notes.append(text)
        self.say(f"note: {text}")

    def tool(self, *arguments):
        """Runs a subcommand that reads a capture; returns its output."""
        done = subprocess.run([self.stallscope, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"stallscope {arguments[0]} ended with {done.returncode}")
        return done.stdout

    def run(self, name, engine, backend, threads, device):
        """One engine run under `stallscope run`; returns its part of the JSON document."""
        capture, log = self.out / f"{name}.stallcap", self.out / f"{name}.log"
        for old in (capture, log):
            old.unlink(missing_ok=True)
        command = [self.stallscope, "run", "--capture", capture, "--command-output", log]
        command += ["--gpu", device.kind] if backend == "cuda" else []
        command += ["--vocab", engine.vocab] if engine.vocab else []
        command += ["--json"] if self.json else ["--live"]
        command += ["--", *engine.command(backend, SEQUENCES, threads, self.seconds)]
        environment = {**os.environ, **engine.environment(), **(device.environment() if backend == "cuda" else {})}
        child = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL if self.json else None)
        exit_code = child.wait()
        output = log.read_text(errors="replace") if log.exists() else ""
        result = {"name": name, "engine": engine.name, "simulated_gpu": backend == "cuda" and device.simulated,
                  "exit_code": exit_code, "interrupted": self.interrupt.seen, "engine_counts": engines.counts(output),
                  "capture": str(capture), "log": str(log)}
        if exit_code and not self.interrupt.seen:
            self.say(f"the engine ended with exit code {exit_code}; its last words ({log}):")
            self.say("\n".join("  " + line for line in output.splitlines()[-5:]))
        if capture.exists():
            budget = json.loads(self.tool("budget", capture, "--json"))
            result["budget"] = budget
            result["adds_up"] = all(sum(line["ns"] for line in process["lines"].values()) == process["wall_ns"]
                                    for process in budget["processes"])
            base = self.out / name
            self.tool("report", capture, "-o", base)
            result["tables"] = sorted(str(path) for path in self.out.glob(f"{name}_*.csv"))
        return result

    @staticmethod
    def good(result):
        return (result["exit_code"] == 0 or result["interrupted"]) and result.get("adds_up") and any(
            process["steps"] for process in result["budget"]["processes"])


def parse(text):
    """NAME=VALUE lines of tools/setup --paths."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
