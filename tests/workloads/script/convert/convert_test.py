#!/usr/bin/env python3
"""The converters on small traces made here: what becomes of calls, waits, graphs, overlaps and cut-off work.

usage: convert_test.py BUILD
Every script is checked by script_player, and some are played there.
"""
import atexit
import gzip
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import from_capture
import from_kineto
import from_nsys
import schedule
from trace import Call, Op, Refused, Trace, Wait, does

BUILD = pathlib.Path(sys.argv.pop(1))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="stallscope-convert-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def player(text, *options):
    """(exit code, JSON or error)"""
    path = FOLDER / "some.script"
    path.write_text(text)
    done = subprocess.run([BUILD / "bin/script_player", path, *options], capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/simgpu")}, timeout=60)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


def kernel(begin, end, stream=7, name="k", device=0):
    return Op("kernel", device, stream, begin, end, name=name)


def launch(begin, end, *ops, thread=1, name="cudaLaunchKernel"):
    return Call(thread, begin, end, name, does(name), ops=list(ops))


class Times(unittest.TestCase):
    def test_are_exact_in_the_largest_unit(self):
        for ns, text in ((0, "0ns"), (999, "999ns"), (1000, "1us"), (12_500, "12.5us"), (1_000_001, "1.000001ms"),
                         (3_000_000_000, "3s"), (10_000, "10us")):
            self.assertEqual(schedule.time_text(ns), text)


class Names(unittest.TestCase):
    def test_functions_do_what_their_name_says(self):
        for name, what in (("cuLaunchKernel", "launch"), ("cudaGraphLaunch", "graph"), ("cudaMemcpyAsync", "launch"),
                           ("hipMemcpyWithStream", "launch"), ("cudaMemsetAsync", "launch"), ("cuCtxSynchronize", "sync_device"),
                           ("cudaMallocAsync", "other"), ("cudaMalloc", "alloc_device"), ("cudaFreeHost", "free_pinned"),
                           ("cudaHostRegister", "alloc_registered"), ("cudaGetDevice", "other"),
                           ("cudaLaunchHostFunc", "other"), ("cudaEventQuery", "query_event")):
            self.assertEqual(does(name), what, name)


class Schedule(unittest.TestCase):
    def script(self, **parts):
        self.trace = Trace("test", **parts)
        text = schedule.script(self.trace)
        code, self.summary = player(text, "--check")
        self.assertEqual(code, 0, f"{self.summary}\n{text}")
        return text

    def test_host_gaps_and_calls_keep_their_times(self):
        text = self.script(calls=[launch(1000, 3000, kernel(8000, 13_000)), launch(10_000, 12_000, kernel(13_500, 14_000))])
        self.assertIn("launch s0_7 5us \"k\" for=2us at=7us\n  work 7us\n  launch s0_7 500ns \"k\" for=2us at=12.5us", text)
        self.assertEqual(self.summary["devices"]["0"], {"operations": 2, "first_ns": 7000, "last_ns": 13_000,
                                                        "busy_ns": 5500, "gaps": 1, "gaps_over_20us": 0})

    def test_work_that_overlaps_in_one_stream_goes_to_a_twin(self):
        text = self.script(calls=[launch(0, 1, kernel(10, 20)), launch(2, 3, kernel(15, 25)), launch(4, 5, kernel(25, 30))])
        self.assertIn("s0_7.2", text)
        self.assertEqual(self.summary["devices"]["0"]["busy_ns"], 20)
        self.assertEqual(sum(self.trace.notes.values()), 1)

    def test_the_drivers_call_inside_the_runtimes_is_one_call(self):
        text = self.script(calls=[launch(0, 100), launch(10, 90, kernel(200, 300), name="cuLaunchKernel")])
        self.assertEqual(text.count("launch "), 1)
        self.assertIn("for=100ns", text)

    def test_graphs_keep_their_branches_and_are_defined_once(self):
        nodes = [kernel(100, 200, name="a"), kernel(150, 250, name="b"), kernel(210, 220, name="c")]
        later = [kernel(op.begin + 5000, op.end + 5000, name=op.name) for op in nodes]
        text = self.script(calls=[launch(0, 50, *nodes, name="cudaGraphLaunch"), launch(300, 350, *later, name="cudaGraphLaunch")])
        self.assertIn('kernel 100ns "b" branch=1 at=50ns', text)
        self.assertEqual(text.count("graph g1\n"), 1)
        self.assertEqual(self.summary["graph_launches"], 2)
        self.assertEqual(self.summary["kernels"], 6)
        self.assertEqual(self.summary["devices"]["0"]["busy_ns"], 300)

    def test_work_without_launch_and_launch_without_work(self):
        text = self.script(calls=[launch(0, 50)], ops_without_call=[kernel(500, 600)])
        self.assertIn("thread unlaunched", text)
        self.assertIn("call cudaLaunchKernel 50ns", text)
        self.assertEqual(len(self.trace.notes), 2)

    def test_a_wait_that_ends_before_its_work_is_time(self):
        sync = Call(1, 2000, 3000, "cudaStreamSynchronize", "sync_stream", stream=7)
        self.assertIn("sync stream s0_7 for=1us", self.script(calls=[launch(0, 1, kernel(10, 2900)), sync]))
        self.assertIn("sleep 1us", self.script(calls=[launch(0, 1, kernel(10, 90_000)), sync]))

    def test_an_event_carries_its_stream(self):
        calls = [launch(0, 1, kernel(10, 2900)), Call(1, 5, 6, "cudaEventRecord", "record", stream=7, event="e"),
                 Call(1, 10, 3000, "cudaEventSynchronize", "sync_event", event="e")]
        text = self.script(calls=calls)
        self.assertIn("record e1 s0_7", text)
        self.assertIn("sync event e1", text)

    def test_a_wait_and_its_waker_become_a_hand_over(self):
        calls = [launch(0, 1, kernel(10, 20)), launch(9000, 9001, kernel(9100, 9200), thread=2)]
        text = self.script(calls=calls, waits=[Wait(2, 100, 6000, waker=1, woken_at=5000)], thread_names={1: "main", 2: "exec"})
        self.assertIn("take main-exec\n  work 1us", text)
        self.assertIn("put main-exec", text)
        self.assertIn("put order-s0_7-main-exec", text)  # both put work on one stream

    def test_threads_that_woke_each_other_are_played_to_the_end(self):
        # A condition variable lets its mutex go inside the wait: the wake lies within the waker's own wait.
        waits = [Wait(1, 100, 500, waker=2, woken_at=450), Wait(2, 90, 300, waker=1, woken_at=120),
                 Wait(1, 600, 900, waker=2, woken_at=700), Wait(2, 650, 1000, waker=1, woken_at=950)]
        text = self.script(calls=[launch(0, 10, kernel(20, 30)), launch(20, 40, kernel(50, 60), thread=2)], waits=waits)
        code, counts = player(text, "--clock", "own")
        self.assertEqual(code, 0, counts)
        self.assertEqual(counts["waits"], 5)

    def test_names_are_quoted(self):
        text = self.script(calls=[launch(0, 1, kernel(10, 20, name='say "x\\y"\n'))])
        self.assertIn(r'"say \"x\\y\" "', text)
        self.assertEqual(list(self.summary["names"]), ['say "x\\y" '])

    def test_nothing_to_play_and_impossible_timing_are_refused(self):
        with self.assertRaisesRegex(Refused, "no device work in it .*1 API calls, 1 of them launches"):
            schedule.script(Trace("test", calls=[launch(0, 1)]))
        with self.assertRaisesRegex(Refused, "impossible timing: k ends 5 ns before it begins"):
            schedule.script(Trace("test", calls=[launch(0, 1, kernel(10, 5))]))


class Kineto(unittest.TestCase):
    def read(self, document, name="trace.json"):
        path = FOLDER / name
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return from_kineto.read(path)

    def test_timestamps_keep_their_nanoseconds(self):
        text = (b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1428625731622345.251, "dur": 18.112, "pid": 0,'
                b'"tid": 7, "args": {"device": 9, "stream": 7, "correlation": 5, "grid": [8, 1, 1], "block": [64, 1, 1]}},'
                b'{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1428625731622340.25, "dur": 3, "pid": 1,'
                b'"tid": 1, "args": {"correlation": 5}}, {"ph": "M", "name": "other"}]}')
        trace = self.read(text, "trace.json.gz")
        call = trace.calls[0]
        self.assertEqual((call.ops[0].begin - call.begin, call.ops[0].end - call.ops[0].begin), (5001, 18_112))
        self.assertEqual((call.ops[0].device, call.ops[0].grid), (0, (8, 1, 1)))
        self.assertIn("devices are numbered anew (9 in the trace)", trace.notes)

    def test_what_is_none_is_refused(self):
        for document, why in ((b"\x1f\x8b broken", "not a Kineto trace"), (b"{", "not a Kineto trace"), ({}, "no list traceEvents"),
                              ({"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": -2}]}, "impossible timing")):
            with self.assertRaisesRegex(Refused, why):
                self.read(document)


class Nsys(unittest.TestCase):
    def export(self, *statements):
        path = FOLDER / "export.sqlite"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return path

    def test_an_old_export_without_processes_is_joined(self):
        pid = 77 << 24
        path = self.export(
            "create table StringIds (id, value)", "insert into StringIds values (1, 'cudaLaunchKernel_v7000'), (2, 'void k()')",
            "create table CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId)",
            f"insert into CUPTI_ACTIVITY_KIND_RUNTIME values (100, 200, {pid + 5}, 1, 1)",
            "create table CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, demangledName)",
            "insert into CUPTI_ACTIVITY_KIND_KERNEL values (300, 400, 0, 7, 1, 2)",
            "create table OSRT_API (start, end, globalTid, eventClass, nameId)",
            f"insert into OSRT_API values (1000, 90000, {pid + 5}, 27, 1), (95000, 200000, {pid + 5}, 31, 1)")
        trace = from_nsys.read(path)
        self.assertEqual([op.name for op in trace.calls[0].ops], ["void k()"])
        self.assertEqual([(wait.begin, wait.end) for wait in trace.waits], [(1000, 90_000)])
        self.assertIn("sleep 89us", schedule.script(trace))

    def test_what_is_none_is_refused(self):
        (FOLDER / "text.sqlite").write_text("no database, but long enough to be read as one " * 40)
        with self.assertRaisesRegex(Refused, "not an SQLite export"):
            from_nsys.read(FOLDER / "text.sqlite")
        with self.assertRaisesRegex(Refused, "no table StringIds"):
            from_nsys.read(self.export("create table other (id)"))


class Capture(unittest.TestCase):
    def read(self, *records):
        lines = FOLDER / "dump.jsonl"
        lines.write_text("".join(json.dumps({"pid": 9, **record}) + "\n" for record in records))
        program = FOLDER / "stallscope"
        program.write_text(f"#!/bin/sh\ncat {lines}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return from_capture.read(pathlib.Path("some.stallcap"), str(program))

    def test_events_become_calls_work_and_hand_overs(self):
        def on(tid, kind, begin, end, **fields):
            return {"kind": kind, "begin_ns": begin, "end_ns": end, "tid": tid, "thread": f"n{tid}", **fields}
        trace = self.read(
            {"kind": "process", "begin_ns": 0, "end_ns": 0, "gpu": "simulated"},
            on(1, "cuda", 10, 20, name="cudaLaunchKernel_v7000", correlation=3, stream="0xabc"),
            {"kind": "gpu", "begin_ns": 30, "end_ns": 90, "name": "k", "op": "kernel", "device": 0, "stream": 13, "correlation": 3},
            on(1, "cuda", 25, 95, name="cudaStreamSynchronize_v3020", stream="0xabc"),
            on(2, "wait", 15, 60, name="pthread_cond_wait", object="0x1"),
            on(1, "wake", 50, 50, name="pthread_cond_signal", object="0x1"),
            on(2, "wait", 70, 80, name="poll", object="0x2"),
            on(2, "range", 85, 85, name="step", range="step_marker", number=4))
        self.assertEqual(trace.calls[0].ops[0].end, 90)
        self.assertEqual(trace.calls[1].stream, 13)
        self.assertEqual([(wait.waker, wait.woken_at) for wait in trace.waits], [(1, 50), (None, 0)])
        self.assertEqual(trace.steps[0].tokens, 4)
        self.assertIn("simulated GPU", trace.source)
        text = schedule.script(trace)
        self.assertIn("sync stream s0_13", text)
        self.assertIn("step 4", text)
        self.assertEqual(player(text, "--clock", "own")[0], 0)

    def test_a_capture_that_cannot_be_read_is_refused(self):
        program = FOLDER / "failing"
        program.write_text("#!/bin/sh\necho not a capture >&2\nexit 3\n")
        program.chmod(0o755)
        with self.assertRaisesRegex(Refused, "not a capture"):
            from_capture.read(pathlib.Path("some.stallcap"), str(program))


class Program(unittest.TestCase):
    def test_refusals_end_with_2_and_one_line(self):
        done = subprocess.run([sys.executable, HERE / "convert.py", FOLDER / "none.sqlite", "-o", FOLDER / "x"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no such file", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
