"""200 attaches and detaches leave the results of a busy C++ program, of Python 3.11 or of llama.cpp right, and no EINTR is seen.

usage: cycles.py busy|python|llama [CYCLES]
"""
import json
import pathlib
import signal
import subprocess
import sys
import time

from subjects import BUSY, ENVIRONMENT, FOLDER, PYTHON_3_11, ROOT, SIMULATED_GPU, STALLSCOPE, Stops, cycle, finish, skip, start, \
    started, wait_for

PYTHON_PROGRAM = """
import asyncio, hashlib, queue, sys, threading, time
stop = threading.Event()
failures = []
def guarded(work):
    def run():
        try:
            work()
        except BaseException as failure:
            failures.append(repr(failure))
    return run
def pass_on(source, sink):
    def work():
        while (item := source.get()) is not None:
            sink.put(item + 1)
        sink.put(None)
    return guarded(work)
first, second, third = queue.Queue(8), queue.Queue(8), queue.Queue(8)
@guarded
def produce():
    number = 0
    while not stop.is_set():
        first.put(number)
        number += 1
        if number % 50 == 0: time.sleep(0.0005)
    first.put(None)
received = []
@guarded
def consume():
    expected = 2
    while (item := third.get()) is not None:
        if item != expected: failures.append(f"{item} for {expected}")
        expected += 1
    received.append(expected)
@guarded
def digest():
    while not stop.is_set():
        data = b"x" * 100000
        if hashlib.sha256(data).hexdigest() != "@DIGEST@": failures.append("digest")
@guarded
def loop():
    async def tick():
        while not stop.is_set():
            begin = time.monotonic()
            await asyncio.sleep(0.002)
            if time.monotonic() - begin < 0.0019: failures.append("early")
    async def main(): await asyncio.gather(*(tick() for _ in range(10)))
    asyncio.run(main())
threads = [threading.Thread(target=work) for work in (produce, pass_on(first, second), pass_on(second, third), consume, digest, loop)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.read()
stop.set()
for thread in threads: thread.join()
print("result", "WRONG " + "; ".join(failures[:5]) if failures else "ok", received)
"""


def busy(cycles, stops):
    process = started(BUSY, 3600)
    cycle(process.pid, cycles, stops)
    exit_code, rest = finish(process)
    print(rest.strip())
    assert exit_code == 0 and "result ok, eintr 0, early 0" in rest, (exit_code, rest)


def python(cycles, stops):
    version = subprocess.run([PYTHON_3_11, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True, check=False)
    if version.stdout.strip() != "(3, 11)":
        skip(f"{PYTHON_3_11} is not Python 3.11")
    import hashlib
    program = FOLDER / "program.py"
    program.write_text(PYTHON_PROGRAM.replace("@DIGEST@", hashlib.sha256(b"x" * 100000).hexdigest()))
    process = started(PYTHON_3_11, "-W", "error", program)
    cycle(process.pid, cycles, stops)
    exit_code, rest = finish(process)
    print(rest.strip())
    assert exit_code == 0 and rest.startswith("result ok"), (exit_code, rest)


def llama(cycles, stops):
    sys.path.insert(0, str(ROOT / "tests/system"))
    sys.path.insert(0, str(ROOT / "tests/demo"))
    import engine
    from llama import Engine
    engine_13 = Engine("llama.cpp", "libcudart.so.13")
    command = [word for word in engine_13.command(3)]
    command[command.index("--tokens"):command.index("--tokens") + 2] = ["--seconds", "3000"]
    with open(FOLDER / "llama-out", "w+", encoding="utf-8") as output:
        process = start(*command, stdout=output,
                        environment={**engine_13.llama.environment(), "LD_LIBRARY_PATH": str(SIMULATED_GPU)})
        # Decoding, not loading: the CUDA backend is there, and has had time to begin.
        maps = pathlib.Path(f"/proc/{process.pid}/maps")
        wait_for(lambda: process.poll() is not None or "libcudart" in maps.read_text(), "llama.cpp", 60)
        time.sleep(5)
        assert process.poll() is None, process.log.read_text()[-2000:]
        cycle(process.pid, cycles, stops)
        process.send_signal(signal.SIGTERM)  # the engine's own way to end: it prints what it has counted
        exit_code = process.wait(timeout=60)
        output.seek(0)
        counts = engine.counts(output.read())
    print(json.dumps(counts))
    log = process.log.read_text(errors="replace")
    assert exit_code == 0 and counts["backend"] == "cuda" and counts["tokens"] > cycles, (exit_code, counts, log[-2000:])
    assert "rror" not in log, log[-2000:]


def main():
    subject = sys.argv[1]
    cycles = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    stops = Stops()
    {"busy": busy, "python": python, "llama": llama}[subject](cycles, stops)
    print(f"{subject}: {cycles} attaches and detaches, {stops.line()}")


main()
