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
    """Ctrl-C and SIGTERM: passed on to the run, which ends the engine; then we report what there is.

    From a terminal the run gets Ctrl-C twice; the engine treats the second like the first."""

    def __init__(self):
        self.seen = False
        self.child = None
        signal.signal(signal.SIGINT, self.note)
        signal.signal(signal.SIGTERM, self.note)

    def note(self, number, _):
        self.seen = True
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(number)


class Demo:
    def __init__(self, arguments):
        self.build = pathlib.Path(arguments.build)
        self.out = pathlib.Path(arguments.out)
        self.seconds = arguments.seconds
        self.json = arguments.json
        self.workload = arguments.workload
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
        command += ["--quiet"] if self.json else ["--live"]
        command += ["--", *engine.command(backend, SEQUENCES, threads, self.seconds)]
        environment = {**os.environ, **engine.environment(), **(device.environment() if backend == "cuda" else {})}
        # What the run says to people goes to standard error; here it is the result, so both go to one place.
        child = subprocess.Popen([str(word) for word in command], env=environment, stdin=None,
                                 stderr=None if self.json else sys.stdout.fileno())
        self.interrupt.child = child
        exit_code = child.wait()
        output = log.read_text(errors="replace") if log.exists() else ""
        result = {"name": name, "engine": engine.name, "simulated_gpu": backend == "cuda" and device.simulated,
                  "exit_code": exit_code, "interrupted": self.interrupt.seen, "engine_counts": engines.counts(output),
                  "capture": str(capture), "log": str(log)}
        if exit_code and not self.interrupt.seen:
            self.say(f"the engine ended with exit code {exit_code}; its last words ({log}):")
            self.say("\n".join("  " + line for line in output.splitlines()[-5:]))
        if capture.exists():
            vocabulary = ["--vocab", engine.vocab] if engine.vocab else []
            budget = json.loads(self.tool("budget", capture, "--json", *vocabulary))
            result["budget"] = budget
            result["adds_up"] = all(sum(line["ns"] for line in process["lines"].values()) == process["wall_ns"]
                                    for process in budget["processes"])
            base = self.out / name
            self.tool("report", capture, "-o", base)
            result["tables"] = sorted(str(path) for path in self.out.glob(f"{name}_*.csv"))
        return result

    def show(self, result):
        """What the run's own summary does not say: the engine's own count beside ours, and where everything lies."""
        counts = result["engine_counts"]
        process = chosen(result["budget"]) if "budget" in result else None
        if counts:
            calls = f" in {counts['batches']:,} decode calls" if counts.get("batches") else ""
            self.say(f"engine     says {counts['tokens']:,} tokens{calls}, {counts['tokens_per_s']:,} tokens/s"
                     + (f"; counted from outside: {process['tokens']:,} tokens in {process['steps']:,} steps"
                        if process else ""))
        self.say(f"output     of the engine: {self.shown(result['log'])}")
        for path in result.get("tables", []):
            self.say(f"table      {self.shown(path)}")

    def compare(self, results):
        """The runs side by side in a line each, and what to do next."""
        self.say()
        for result in results:
            process = chosen(result["budget"]) if "budget" in result else None
            if process is None or not process["steps"]:
                self.say(f"{result['name']:5} no decode step was found")
                continue
            lines = sorted(process["lines"].items(), key=lambda line: -line[1]["ns"])[:3]
            itl = process["itl_us"]
            where = "simulated GPU" if result["simulated_gpu"] else process["gpu"] or "no GPU"
            meanings = line_meanings()
            self.say(f"{result['name']:5} {where:14} {process['tokens'] * 1e9 / process['wall_ns']:>9,.1f} tokens/s   "
                     f"ITL p50 {itl['p50'] / 1e3:,.2f} ms, p99 {itl['p99'] / 1e3:,.2f} ms   "
                     + ", ".join(f"{name} {line['share'] * 100:.0f} %" for name, line in lines if line["ns"]))
            biggest = lines[0][0]
            if biggest in meanings:
                self.say(f"      most of it, {biggest}: {meanings[biggest]}")
        if results and "budget" in results[-1]:
            tool = self.shown(self.stallscope)
            self.say(f"\nLook again: {tool} budget {self.shown(results[0]['capture'])}      Every event: {tool} dump ...")

    @staticmethod
    def shown(path):
        return os.path.relpath(path)

    def main(self):
        paths = {name: os.environ.get(name, "") for name in
                 ("STALLSCOPE_NODE", "STALLSCOPE_ENGINE", "STALLSCOPE_PYTHON", "STALLSCOPE_CACHE")}
        device, why_not_real = gpu.find(paths["STALLSCOPE_CACHE"] or "/nowhere")
        if why_not_real:
            self.note(why_not_real)
        engine = self.engine(paths)
        cores = len(os.sched_getaffinity(0))
        plan = [("cuda", 1, f"CUDA backend on {'the ' if device.simulated else ''}{device.name}"),
                ("cpu", cores, f"CPU backend, {cores} threads on {cores} cores")]
        if not engine.has_cpu_backend:
            plan = plan[:1]
        results = []
        for number, (name, threads, title) in enumerate(plan, 1):
            self.say(f"\n[{number}/{len(plan)}] {engine.name}\n      {title}, {SEQUENCES} sequences, {self.seconds:g} s\n")
            results.append(self.run(name, engine, name, threads, device))
            if not self.json:
                self.show(results[-1])
            if self.interrupt.seen:
                break
        if not self.json:
            self.compare(results)
        else:
            print(json.dumps({"schema": "stallscope.demo/1", "seconds": self.seconds, "runs": results,
                              "notes": self.notes}, indent=1))
        if self.interrupt.seen:
            return 130
        return 0 if all(good(result) for result in results) else 1

    def engine(self, paths):
        if not self.workload:
            try:
                engine = engines.LlamaCpp(paths)
                engine.model()
                return engine
            except engines.EngineMissing as missing:
                self.note(f"{missing}. Our own decode workload runs instead.")
        return engines.Workload(self.build)


def line_meanings():
    """Line of the budget -> when it is charged, from the table that defines them."""
    meanings = {}
    for row in (engines.HERE.parents[1] / "docs/budget.md").read_text().splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 2 and cells[0].startswith("`"):
            meanings.update((name, cells[1]) for name in cells[0].replace("`", "").split())
    return meanings


def chosen(budget):
    """The process that decodes: most tokens, then most steps (node-llama-cpp also starts a short-lived child)."""
    return max(budget["processes"], key=lambda process: (process["tokens"], process["steps"]), default=None)


def good(result):
    return ((result["exit_code"] == 0 or result["interrupted"]) and result.get("adds_up", False)
            and chosen(result["budget"])["steps"] > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--workload", action="store_true")
    arguments = parser.parse_args()
    if not arguments.seconds > 0:
        parser.error("--seconds must be positive")
    return Demo(arguments).main()


if __name__ == "__main__":
    sys.exit(main())
