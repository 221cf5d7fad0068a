"""The programs that tools/demo runs: llama.cpp where it could be had, else our own decode workload."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VOCAB = 8192


class EngineMissing(Exception):
    """Says in one line what could not be had."""


class Workload:
    """Our own decode loop of CUDA calls (tests/workloads), for machines on which llama.cpp cannot be had."""

    name = "Stallscope's own decode workload (not an inference engine)"
    vocab = 0
    has_cpu_backend = False

    def __init__(self, build):
        self.program = pathlib.Path(build) / "bin/decode_workload"

    def environment(self):
        return {}

    def command(self, backend, sequences, threads, seconds):
        return [str(self.program), "--sequences", str(sequences), "--seconds", str(seconds), "--json"]


class LlamaCpp:
    """llama.cpp as prebuilt by node-llama-cpp, unmodified, decoding a model with random weights."""

    has_cpu_backend = True

    def __init__(self, paths):
        self.node, self.folder = paths["STALLSCOPE_NODE"], pathlib.Path(paths["STALLSCOPE_ENGINE"] or "/nowhere")
        self.python, self.cache = paths["STALLSCOPE_PYTHON"], pathlib.Path(paths["STALLSCOPE_CACHE"])
        package = self.folder / "node_modules/node-llama-cpp/package.json"
        if not self.node or not package.is_file():
            raise EngineMissing("llama.cpp (npm: node-llama-cpp) is not here; tools/setup --retry tries again to get it")
        self.name = f"llama.cpp (node-llama-cpp {json.loads(package.read_text())['version']}), unmodified"
        self.vocab = VOCAB

    def model(self):
        """The model file, written once for each version of the writer."""
        writer = HERE / "write_gguf.py"
        version = hashlib.sha256(writer.read_bytes()).hexdigest()[:12]
        path = self.cache / "models" / f"random-{VOCAB}-{version}.gguf"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run([sys.executable, writer, path, "--vocab", str(VOCAB)],
                                  env={**os.environ, "PYTHONPATH": self.python, "PYTHONDONTWRITEBYTECODE": "1"},
                                  capture_output=True, text=True)
            if done.returncode:
                raise EngineMissing(f"the GGUF writer failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
        return path

    def environment(self):
        return {"STALLSCOPE_ENGINE": str(self.folder)}

    def command(self, backend, sequences, threads, seconds):
        return [self.node, str(HERE / "decode.mjs"), "--model", str(self.model()),
                "--gpu", "cuda" if backend == "cuda" else "off", "--sequences", str(sequences),
                "--threads", str(threads), "--seconds", str(seconds)]


def counts(output):
    """What the engine itself counted: the last line of its output that is a JSON object, or {}."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except json.JSONDecodeError:
                continue
    return {}
