"""The truth's own arithmetic, on small runs whose budget is plain: first of all the worked example of docs/budget.md."""
import unittest

from truth_budget import Truth

US = 1000
MAIN, WAKER = 1, 2


def kernel(name, queued, begin, end, tid=MAIN):
    return {"op": "kernel", "name": name, "direction": "", "tid": tid, "queued_ns": queued * US, "begin_ns": begin * US,
            "end_ns": end * US}


def copy(direction, queued, begin, end, tid=MAIN):
    return {**kernel("", queued, begin, end, tid), "op": "copy", "direction": direction}


def call(name, begin, end, tid=MAIN):
    return {"call": name, "tid": tid, "begin_ns": begin * US, "end_ns": end * US}


def blocked(what, begin, woken, end, by, tid=MAIN):
    return {"blocked": what, "tid": tid, "begin_ns": begin * US, "woken_ns": woken * US, "end_ns": end * US, "by": by}


def wait(kind, begin, ready, end, tid=MAIN):
    return {"wait": kind, "tid": tid, "begin_ns": begin * US, "ready_ns": ready * US, "end_ns": end * US}


def step(at, tokens=1, tid=MAIN):
    return {"step": "delivered", "tid": tid, "at_ns": at * US, "tokens": tokens}


def budget_us(lines):
    truth = Truth(lines)
    budget = {line: ns / US for line, ns in truth.budget().items() if ns}
    wall = (truth.steps[-1]["at_ns"] - truth.steps[0]["at_ns"]) / US
    assert sum(budget.values()) == wall, f"{sum(budget.values())} of {wall}"
    return budget


class WorkedExample(unittest.TestCase):
    LINES = [step(0), step(1000), blocked("lock", 0, 18, 20, WAKER), call("cudaLaunchKernel_v7000", 60, 90),
             kernel("qkv_gemm_kernel", 61, 100, 400), call("cudaLaunchKernel_v7000", 90, 95),
             kernel("FillFunctor", 91, 400, 450), call("cudaMemcpyAsync_v3020", 95, 98), copy("d2h", 96, 450, 460),
             call("cudaDeviceSynchronize_v3020", 98, 900), wait("context", 98, 460, 900)]

    def test_is_the_documents_budget(self):
        self.assertEqual(budget_us(self.LINES), {
            "gpu.gemm": 300, "gpu.fill": 50, "gpu.copy_d2h": 10, "gpu.gap": 10, "host.launch": 30, "host.cpu": 158,
            "host.wakeup": 2, "host.sync_overwait": 440})

    def test_over_wait_and_idle_inside(self):
        waits = Truth(self.LINES).over_waits()["context"]
        self.assertEqual(waits["over_wait_ns"], 440 * US)
        self.assertEqual(waits["idle_inside_ns"], (802 - 360) * US)


class IdleInside(unittest.TestCase):
    def test_counts_the_awaited_stream_only(self):
        mine, other = kernel("qkv_gemm_kernel", 1, 10, 60), kernel("qkv_gemm_kernel", 1, 20, 90)
        later = kernel("qkv_gemm_kernel", 50, 60, 80)
        mine["stream"], other["stream"], later["stream"] = 7, 8, 7
        for_stream = {**wait("stream", 20, 60, 100), "device": 0, "stream": 7}
        lines = [step(0), step(200), mine, other, later, for_stream]
        self.assertEqual(Truth(lines).over_waits()["stream"]["idle_inside_ns"], 40 * US)
        for_event = {**wait("event", 70, 75, 100), "device": 0, "stream": 7}
        self.assertEqual(Truth([step(0), step(200), mine, later, for_event]).over_waits()["event"]["idle_inside_ns"], 30 * US)


class Walks(unittest.TestCase):
    def test_over_wait_within_clock_error_is_a_wake_up(self):
        lines = [step(0), step(100), call("cudaLaunchKernel_v7000", 0, 10), kernel("qkv_gemm_kernel", 1, 10, 92),
                 call("cudaEventSynchronize_v3020", 20, 100), wait("event", 20, 92, 100)]
        self.assertEqual(budget_us(lines)["host.wakeup"], 8)

    def test_sleep_is_sleep_and_idle_is_idle(self):
        lines = [step(0), step(1000), blocked("sleep", 500, 600, 600, 0),
                 {"idle": "no request", "tid": MAIN, "begin_ns": 100 * US, "end_ns": 400 * US}]
        self.assertEqual(budget_us(lines), {"host.sleep": 100, "idle.no_request": 300, "host.cpu": 600})

    def test_kernels_that_overlap_are_counted_once_by_priority(self):
        lines = [step(0), step(100), call("cudaLaunchKernel_v7000", 0, 10), kernel("rms_norm_kernel", 1, 10, 60),
                 kernel("qkv_gemm_kernel", 2, 40, 100)]
        budget = budget_us(lines)
        self.assertEqual((budget["gpu.norm_act"], budget["gpu.gemm"]), (30, 60))

    def test_pageable_copy_waits_for_itself(self):
        lines = [step(0), step(100), call("cudaMemcpyAsync_v3020", 10, 100), copy("d2h", 11, 50, 60),
                 wait("copy", 12, 60, 100)]
        self.assertEqual(budget_us(lines)["host.sync_overwait"], 40)

    def test_allocation_that_keeps_the_gpu_waiting(self):
        lines = [step(0), step(100), call("cudaMalloc_v3020", 0, 70), call("cudaLaunchKernel_v7000", 70, 80),
                 kernel("qkv_gemm_kernel", 71, 80, 100)]
        self.assertEqual(budget_us(lines), {"host.alloc": 70, "host.launch": 10, "gpu.gemm": 20})


if __name__ == "__main__":
    unittest.main()
