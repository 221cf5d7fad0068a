"""What a step's time really went to, from the truth of a run (docs/truth.md), by the definitions of docs/budget.md.

This is a second implementation of those definitions, on other data: the simulator's and the program's own account
instead of what a tracer saw. Nothing of the product is used. What the truth does not know (run delay within ordinary
code) is one line with ordinary code: host.cpu.
"""
import bisect
import collections
import json

# Which line a kernel of our workloads belongs to: by its name, of which we know what it stands for.
CLASSES = [("_kernelINS_4gemm6kernel13GemmUniversalINS1_17GroupProblemShape", "gpu.moe"), ("GemmUniversal", "gpu.gemm"),
           ("FillFunctor", "gpu.fill"), ("silu_1", "gpu.norm_act"), ("rms_norm", "gpu.norm_act"),
           ("flash_fwd", "gpu.attention"), ("reshape_and_cache", "gpu.kv_cache"), ("moe_topk", "gpu.moe"),
           ("fp4_quant", "gpu.quant"), ("gated_delta_rule_attention", "gpu.attention"), ("sample", "gpu.sampling"),
           ("paged_attention", "gpu.attention"), ("gemm_kernel", "gpu.gemm")]
PRIORITY = ["gpu.gemm", "gpu.attention", "gpu.moe", "gpu.norm_act", "gpu.fill", "gpu.quant", "gpu.kv_cache",
            "gpu.sampling", "gpu.collective", "gpu.other", "gpu.copy_h2d", "gpu.copy_d2h", "gpu.copy_d2d", "gpu.memset"]
RANK = {line: rank for rank, line in enumerate(PRIORITY)}

CALL_LINES = [("cudaGraphLaunch", "host.launch"), ("LaunchKernel", "host.launch"), ("PopCallConfiguration", "host.cpu"),
              ("cudaMemcpyAsync", "host.launch"), ("cudaMemset", "host.launch"), ("cudaEventRecord", "host.launch"),
              ("cudaStreamWaitEvent", "host.launch"), ("cudaMemcpy", "host.copy_api"),
              ("Malloc", "host.alloc"), ("Free", "host.alloc"), ("Host", "host.alloc"),
              ("Capture", "host.graph_build"), ("cudaGraph", "host.graph_build"),
              ("Synchronize", "host.sync_overwait"), ("Query", "host.spin")]
WAIT_LINES = {"sleep": "host.sleep", "lock": "host.lock", "send": "host.ipc"}
CLOCK_ERROR_NS = 10_000  # a shorter over-wait is within the clocks' error, by definition


def line_of_kernel(name):
    return next((line for part, line in CLASSES if part in name), "gpu.other")


def line_of_call(name):
    return next((line for part, line in CALL_LINES if part in name), "host.cpu")


def line_of_operation(line):
    if line["op"] == "kernel":
        return line_of_kernel(line["name"])
    return "gpu.memset" if line["op"] == "fill" else "gpu.copy_" + line["direction"]


class Intervals:
    """What one thread did, in order; nested intervals are not kept (a blocked stretch inside a call counts as the call)."""

    def __init__(self):
        self.items = []  # (begin, end, kind, record)
        self.begins = []

    def seal(self):
        self.items.sort(key=lambda item: (item[0], -item[1]))
        flat = []
        for item in self.items:
            if not flat or item[0] >= flat[-1][1]:
                flat.append(item)
        self.items = flat
        self.begins = [item[0] for item in flat]

    def before(self, at):
        """The last interval that began before `at`; None."""
        index = bisect.bisect_left(self.begins, at) - 1
        return self.items[index] if index >= 0 else None


class Truth:
    def __init__(self, lines):
        self.operations, self.steps, self.waits, self.idle = [], [], [], []
        self.threads = collections.defaultdict(Intervals)
        for line in lines:
            if "op" in line:
                if line["op"] in ("kernel", "copy", "fill"):
                    self.operations.append((line["begin_ns"], line["end_ns"], line_of_operation(line), line))
            elif "call" in line:
                self.threads[line["tid"]].items.append((line["begin_ns"], line["end_ns"], "call", line))
            elif "wait" in line:
                self.waits.append(line)
            elif "blocked" in line:
                self.threads[line["tid"]].items.append((line["begin_ns"], line["end_ns"], "blocked", line))
            elif "step" in line:
                self.steps.append(line)
            elif "idle" in line:
                self.idle.append(line)
        self.operations.sort(key=lambda operation: operation[0])
        self.begins = [operation[0] for operation in self.operations]
        self.longest = max((end - begin for begin, end, _, _ in self.operations), default=0)
        self.steps.sort(key=lambda step: step["at_ns"])
        self.idle.sort(key=lambda idle: idle["begin_ns"])
        for thread in self.threads.values():
            thread.seal()
        self.waits_of = collections.defaultdict(list)
        for wait in self.waits:
            self.waits_of[wait["tid"]].append(wait)
        for waits in self.waits_of.values():
            waits.sort(key=lambda wait: wait["begin_ns"])
        self.walks_cut = 0

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return Truth(json.loads(line) for line in file)

    def tokens(self):
        """Of the steps that have a begin: all but the first."""
        return sum(step["tokens"] for step in self.steps[1:])

    def budget(self):
        """Nanoseconds by line over all steps; they sum to the time from the first delivery to the last."""
        sums = collections.Counter()
        for before, after in zip(self.steps, self.steps[1:]):
            self._attribute(before["at_ns"], after["at_ns"], after["tid"], sums)
        return dict(sums)

    def over_waits(self):
        """By kind of wait: calls, total, over-wait, idle inside."""
        first, last = self.steps[0]["at_ns"], self.steps[-1]["at_ns"]
        kinds = {}
        for wait in self.waits:
            if wait["end_ns"] <= first or wait["end_ns"] > last:
                continue
            kind = kinds.setdefault(wait["wait"], {"calls": 0, "total_ns": 0, "over_wait_ns": 0, "idle_inside_ns": 0})
            over = max(0, wait["end_ns"] - max(wait["begin_ns"], wait["ready_ns"]))
            kind["calls"] += 1
            kind["total_ns"] += wait["end_ns"] - wait["begin_ns"]
            kind["over_wait_ns"] += over if over >= CLOCK_ERROR_NS else 0
            busy = sum(end - begin for begin, end, _ in self._busy(wait["begin_ns"], wait["end_ns"], wait))
            kind["idle_inside_ns"] += wait["end_ns"] - wait["begin_ns"] - busy
        return kinds

    @staticmethod
    def _is_awaited(operation, wait):
        """Whether the wait is for this operation: enqueued before, on its device and, unless it is for all, its stream."""
        if wait.get("device", -1) >= 0 and operation.get("device", wait["device"]) != wait["device"]:
            return False
        if wait.get("stream", 0) != 0 and operation["stream"] != wait["stream"]:
            return False
        if wait["wait"] == "event" and operation["end_ns"] > wait["ready_ns"]:
            return False
        return operation.get("queued_ns", 0) < wait["begin_ns"] or wait["wait"] == "copy"

    def _busy(self, begin, end, wait=None):
        """[(begin, end, line)] within the interval, the line of highest priority at each instant. Of awaited work only, if a
        wait is given."""
        first = bisect.bisect_left(self.begins, begin - self.longest)
        active, edges = [], []
        for index in range(first, len(self.operations)):
            op_begin, op_end, line, operation = self.operations[index]
            if op_begin >= end:
                break
            if op_end > begin and (wait is None or self._is_awaited(operation, wait)):
                edges.append((max(op_begin, begin), 1, RANK[line]))
                edges.append((min(op_end, end), 0, RANK[line]))
        edges.sort()
        counts = [0] * len(PRIORITY)
        pieces, at = [], begin
        running = 0
        for moment, starts, rank in edges:
            if moment > at and running > 0:
                active = next(r for r, count in enumerate(counts) if count > 0)
                pieces.append((at, moment, PRIORITY[active]))
            at = max(at, moment)
            counts[rank] += 1 if starts else -1
            running += 1 if starts else -1
        return pieces

    def _attribute(self, begin, end, thread, sums):
        now = begin
        for piece_begin, piece_end, line in self._busy(begin, end) + [(end, end, None)]:
            if piece_begin > now:
                self._gap(now, piece_begin, piece_begin if line is not None else None, thread, sums)
            if line is not None:
                sums[line] += piece_end - piece_begin
            now = max(now, piece_end)

    def _gap(self, begin, end, operation_begin, delivering, sums):
        thread, cursor = delivering, end
        if operation_begin is not None:
            operation = self.operations[bisect.bisect_left(self.begins, operation_begin)][3]
            thread = operation["tid"]
            call = self.threads[thread].before(operation["queued_ns"] + 1)
            enqueued = call[1] if call is not None and call[1] >= operation["queued_ns"] else operation["queued_ns"]
            cursor = min(max(enqueued, begin), end)
            sums["gpu.gap"] += end - cursor
        self._walk(thread, cursor, begin, sums)

    def _walk(self, thread, cursor, until, sums):
        for _ in range(256):
            if cursor <= until:
                return
            idle = self._idle_at(cursor)
            if idle is not None:
                start = max(idle["begin_ns"], until)
                sums["idle.no_request"] += cursor - start
                thread, cursor = idle["tid"], start
                continue
            item = self.threads[thread].before(cursor)
            if item is None or item[1] < cursor:
                start = max(until, item[1] if item is not None else until)
                idle_end = self._last_idle_end(start, cursor)
                start = max(start, idle_end)
                sums["host.cpu"] += cursor - start
                cursor = start
                continue
            begin, _, kind, record = item
            start = max(begin, until)
            if kind == "call":
                self._call(thread, record, start, cursor, sums)
                cursor = start
            elif record["by"] == 0:
                sums[WAIT_LINES.get(record["blocked"], "host.wait_thread")] += cursor - start
                cursor = start
            else:
                woken = min(max(record["woken_ns"], start), cursor)
                sums["host.wakeup"] += cursor - woken
                thread, cursor = record["by"], woken
        self.walks_cut += 1
        sums["unknown.lost"] += cursor - until

    def _call(self, thread, record, start, cursor, sums):
        line = line_of_call(record["call"])
        waits = self.waits_of[thread]
        index = bisect.bisect_left(waits, record["begin_ns"], key=lambda wait: wait["begin_ns"])
        wait = waits[index] if index < len(waits) and waits[index]["end_ns"] <= record["end_ns"] else None
        if wait is None:
            sums[line] += cursor - start
            return
        if line == "host.launch":  # an asynchronous copy that waited: pageable memory
            line = "host.copy_api"
        ready = max(wait["begin_ns"], wait["ready_ns"])
        split = min(max(ready, start), cursor)
        over = wait["end_ns"] - ready
        if line == "host.alloc":
            sums[line] += cursor - start  # freeing waits for the device
            return
        sums["host.sync_overwait" if over >= CLOCK_ERROR_NS else "host.wakeup"] += cursor - split
        sums["host.copy_api" if line == "host.copy_api" else "gpu.gap"] += split - start

    def _idle_at(self, cursor):
        index = bisect.bisect_left(self.idle, cursor, key=lambda idle: idle["begin_ns"]) - 1
        if index >= 0 and self.idle[index]["end_ns"] >= cursor:
            return self.idle[index]
        return None

    def _last_idle_end(self, begin, end):
        index = bisect.bisect_left(self.idle, end, key=lambda idle: idle["end_ns"]) - 1
        return self.idle[index]["end_ns"] if index >= 0 and self.idle[index]["end_ns"] > begin else begin
