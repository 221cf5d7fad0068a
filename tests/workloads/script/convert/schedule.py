"""A Trace as a workload script (docs/workload-scripts.md).

Each thread becomes its calls, with the time between them as host gaps, so that waits and back-pressure come from the
simulation again; each piece of device work keeps its duration, and its begin as `at=`. What cannot be said in a script is
left out or said as time, and counted in the trace's notes.
"""
import collections
import re

from trace import Refused

SLEEP_FROM_NS = 2_000_000  # a longer host gap than this leaves the core
FREE_NS = 15_000           # what the simulator's free takes at least; a shorter one becomes time
CONSISTENT_NS = 2_000      # a wait may end this much before the work that it is said to wait for
UNLAUNCHED = "unlaunched"
MAX_BRANCHES = 64


def time_text(ns):
    """Exact, in the largest unit that it fills."""
    for unit, size, decimals in (("s", 10**9, 9), ("ms", 10**6, 6), ("us", 10**3, 3)):
        if ns >= size:
            whole, rest = divmod(ns, size)
            return f"{whole}{f'.{rest:0{decimals}}'.rstrip('0').rstrip('.') if rest else ''}{unit}"
    return f"{ns}ns"


def quoted(name):
    printable = "".join(c if c.isprintable() else " " for c in name) or "?"
    return '"' + printable.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Names:
    """Keys to names that the grammar takes, each once."""

    def __init__(self):
        self.names, self.taken = {}, set()

    def of(self, key, wish):
        if key not in self.names:
            base = re.sub(r"[^A-Za-z0-9_.:-]+", "_", str(wish)) or "x"
            base = base if re.match("[A-Za-z_]", base) else f"_{base}"
            name, number = base, 1
            while name in self.taken:
                number += 1
                name = f"{base}.{number}"
            self.taken.add(name)
            self.names[key] = name
        return self.names[key]


class Lanes:
    """Streams of the script for a stream of the trace: work that overlaps there goes to a twin."""

    def __init__(self):
        self.names = Names()
        self.names.taken.add("default")
        self.end = collections.defaultdict(list)      # stream -> last end of each lane
        self.ends = collections.defaultdict(list)     # stream -> ends of work in order of launch, running maximum
        self.twins = 0

    def place(self, device, stream, begin, end):
        """The lane of work launched next: (lane key)."""
        ends = self.end[(device, stream)]
        for index, last in enumerate(ends):
            if begin >= last:
                break
        else:
            ends.append(0)
            index = len(ends) - 1
            self.twins += index > 0
        ends[index] = end
        key = (device, stream)
        running = self.ends[key]
        running.append(max(end, running[-1]) if running else end)
        return (device, stream, index)

    def name(self, lane):
        device, stream, index = lane
        base = f"s{device}_{stream}" if not isinstance(stream, tuple) else "s" + "_".join(str(part) for part in (device, *stream))
        return self.names.of(lane, base if index == 0 else f"{base}.{index + 1}")


class Scheduler:
    def __init__(self, trace):
        self.trace, self.notes = trace, trace.notes
        self.lanes = Lanes()
        self.threads, self.queues, self.events = Names(), Names(), Names()
        self.graphs, self.graph_text = {}, []
        self.out = collections.defaultdict(list)  # thread -> lines
        self.at = {}                              # thread -> the host time that its lines have reached
        self.known_events = {}                    # event key -> when its work ended
        self.allocated = collections.Counter()
        self.waits_now = collections.Counter()  # thread -> how many waits it is in
        self.last_launch = {}                   # lane -> who put the last work there, and the index of that line

    # Which calls, and in which order.

    def drop_nested(self):
        """A call inside another of its thread (the driver's inside the runtime's) gives its work to the outer one."""
        kept = []
        open_calls = {}
        # A coarse clock makes calls of no length: they come before what begins in the same moment, and are in nothing.
        for call in sorted(self.trace.calls, key=lambda call: (call.begin, call.end > call.begin, -call.end)):
            outer = open_calls.get(call.thread)
            if outer is not None and call.begin < call.end <= outer.end:
                if call.ops and not outer.ops:
                    outer.does = call.does
                outer.ops.extend(call.ops)
                call.ops = []
                self.notes["calls inside other calls: left out"] += 1
                continue
            open_calls[call.thread] = call
            kept.append(call)
        return kept

    def script(self):
        if not any(True for _ in self.trace.ops()):
            launches = sum(call.does in ("launch", "graph") for call in self.trace.calls)
            raise Refused(f"{self.trace.source}: there is no device work in it (no kernel, copy, fill or graph; "
                          f"{len(self.trace.calls)} API calls, {launches} of them launches), so there is nothing to play")
        for what in (*self.trace.ops(), *self.trace.calls):
            if what.end < what.begin:
                raise Refused(f"{self.trace.source}: impossible timing: {what.name or what.kind} ends "
                              f"{what.begin - what.end} ns before it begins")
        calls = self.drop_nested()
        waits = self.useful_waits(calls)
        self.base = min([*(c.begin for c in calls), *(w.begin for w in waits), *(op.begin for op in self.trace.ops())])
        self.unlaunched()
        moments = [(call.begin, 3, number, self.call, call) for number, call in enumerate(calls)]
        # Lines are made in order of time, and a thread is made to wait only for a line that was made before: however the
        # threads are scheduled when the script is played, they cannot all wait for each other.
        for number, wait in enumerate(waits):
            moments.append((wait.begin, 0, number, self.begin_wait, wait))
            moments.append((wait.end, 2, number, self.end_wait, wait))
            if wait.waker is not None:
                moments.append((wait.woken_at, 1, number, self.put, wait))
        moments += [(step.at, 4, number, self.step, step) for number, step in enumerate(self.trace.steps)]
        moments.sort(key=lambda moment: moment[:3])
        for _, _, _, make, what in moments:
            make(what)
        return self.text()

    def useful_waits(self, calls):
        """Waits and wakers of threads that matter: those with calls, and who wakes them, and who wakes those."""
        matters = {call.thread for call in calls} | {step.thread for step in self.trace.steps}
        waits = self.trace.waits
        while True:
            wakers = {wait.waker for wait in waits if wait.thread in matters and wait.waker is not None}
            if wakers <= matters:
                break
            matters |= wakers
        return [wait for wait in waits if wait.thread in matters]

    # Lines of threads.

    def line(self, thread, text):
        self.out[thread].append(text)

    def host(self, thread, until):
        """Host time up to a moment."""
        reached = self.at.setdefault(thread, self.base)
        if until > reached:
            gap = until - reached
            self.line(thread, f"{'sleep' if gap >= SLEEP_FROM_NS else 'work'} {time_text(gap)}")
            self.at[thread] = until

    def reach(self, thread, until):
        self.at[thread] = max(self.at.get(thread, self.base), until)

    def queue(self, waker, thread):
        return self.queues.of((waker, thread), f"{self.thread_name(waker)}-{self.thread_name(thread)}")

    def thread_name(self, thread):
        return self.threads.of(thread, self.trace.thread_names.get(thread, f"t{thread}"))

    def step(self, step):
        self.host(step.thread, step.at)
        self.line(step.thread, f"step {step.tokens}")

    def put(self, wait):
        # Who wakes while it waits itself (a condition variable lets its mutex go) does so as it begins to wait.
        if not self.waits_now[wait.waker]:
            self.host(wait.waker, wait.woken_at)
        self.line(wait.waker, f"put {self.queue(wait.waker, wait.thread)}")

    def begin_wait(self, wait):
        self.host(wait.thread, wait.begin)
        self.waits_now[wait.thread] += 1

    def end_wait(self, wait):
        self.waits_now[wait.thread] -= 1
        if wait.waker is not None:
            self.line(wait.thread, f"take {self.queue(wait.waker, wait.thread)}")
            if wait.end > wait.woken_at:  # woken, but not running yet
                self.line(wait.thread, f"work {time_text(wait.end - wait.woken_at)}")
        elif wait.end > self.at[wait.thread]:
            self.line(wait.thread, f"sleep {time_text(wait.end - self.at[wait.thread])}")
        self.reach(wait.thread, wait.end)

    def in_order(self, lane, thread):
        """What several threads put on one stream stays in its order."""
        before, behind = self.last_launch.get(lane, (thread, 0))
        if before != thread:
            wish = f"order-{self.lanes.name(lane)}-{self.thread_name(before)}-{self.thread_name(thread)}"
            name = self.queues.of(("order", lane, before, thread), wish)
            self.out[before][behind] += f"\n  put {name}"
            self.line(thread, f"take {name}")
        self.last_launch[lane] = (thread, len(self.out[thread]))  # the next line is the launch

    # Calls.

    def call(self, call):
        self.host(call.thread, call.begin)
        if call.ops:
            self.work(call)
        elif call.does in ("launch", "graph"):
            self.notes["launches without work of their own (captured into a graph, or cut off): said as host time"] += 1
            self.as_time(call)
        else:
            self.SAYS.get(call.does.split("_")[0], Scheduler.as_time)(self, call)
        self.reach(call.thread, call.end)

    def duration(self, call):
        return max(1, call.end - max(call.begin, self.at.get(call.thread, self.base)))

    def as_time(self, call):
        duration = call.end - self.at[call.thread]
        if duration > 0:
            self.line(call.thread, f"call {re.sub(r'[^A-Za-z0-9_]', '_', call.name) or 'unnamed'} {time_text(duration)}"
                      if re.match("[A-Za-z_]", call.name) else f"work {time_text(duration)}")

    def work(self, call):
        """A call with device work."""
        ops = sorted(call.ops, key=lambda op: (op.begin, op.end))
        if call.does == "graph" or any(op.kind == "whole" for op in ops):
            return self.graph(call, ops)
        for index, op in enumerate(ops):
            lane = self.lanes.place(op.device, op.stream, op.begin, op.end)
            self.in_order(lane, call.thread)
            last = index == len(ops) - 1
            how = self.blocking(call, op, lane) if last else ""
            host = f" for={time_text(self.duration(call))}" if last else " for=1ns"
            self.line(call.thread, self.statement(op, self.lanes.name(lane)) + how + host
                      + f" at={time_text(op.begin - self.base)}")
        if len(ops) > 1:
            self.notes["calls with several pieces of work: one statement each"] += 1

    def blocking(self, call, op, lane):
        """How a copy keeps its caller: it did, when the call returned after its end."""
        if op.kind != "copy" or op.copy == "d2d" or call.end < op.end:
            return ""
        return " pageable"

    def length(self, op):
        self.notes["pieces of work of no length: 1 ns"] += op.end == op.begin
        return max(1, op.end - op.begin)

    def statement(self, op, stream):
        duration = time_text(self.length(op))
        if op.kind == "copy":
            return f"copy {stream} {op.copy} {max(1, op.bytes)} {duration}"
        if op.kind == "fill":
            return f"fill {stream} {max(1, op.bytes)} {duration}"
        return f"launch {stream} {duration} {quoted(op.name)}{self.shape(op)}"

    @staticmethod
    def shape(op):
        text = ""
        for key, extent in (("grid", op.grid), ("block", op.block)):
            if extent and all(part >= 1 for part in extent) and tuple(extent) != (1, 1, 1):
                text += f" {key}={'x'.join(str(part) for part in extent)}"
        return text

    def graph(self, call, ops):
        begin, end = ops[0].begin, max(op.end for op in ops)
        branch_ends, nodes = [], []
        for op in ops:
            at, duration = op.begin - begin, self.length(op)
            branch = next((i for i, last in enumerate(branch_ends) if at >= last), len(branch_ends))
            if branch == MAX_BRANCHES:
                raise Refused(f"{self.trace.source}: a graph runs more than {MAX_BRANCHES} nodes at once")
            if branch == len(branch_ends):
                branch_ends.append(0)
            branch_ends[branch] = at + duration
            what = {"kernel": f"kernel {time_text(duration)} {quoted(op.name)}{self.shape(op)}",
                    "copy": f"copy {op.copy} {max(1, op.bytes)} {time_text(duration)}",
                    "fill": f"fill {max(1, op.bytes)} {time_text(duration)}", "whole": f"whole {time_text(duration)}"}[op.kind]
            nodes.append(f"  {what}{f' branch={branch}' if branch else ''}{f' at={time_text(at)}' if at else ''}")
        body = "\n".join(nodes)
        if body not in self.graphs:
            self.graphs[body] = f"g{len(self.graphs) + 1}"
            self.graph_text.append(f"graph {self.graphs[body]}\n{body}\nend\n")
        lane = self.lanes.place(ops[0].device, ops[0].stream, begin, end)
        self.in_order(lane, call.thread)
        self.line(call.thread, f"graph {self.lanes.name(lane)} {self.graphs[body]} at={time_text(begin - self.base)} "
                               f"for={time_text(self.duration(call))}")

    def lane_of(self, call):
        """The stream that a call names: its first lane. None: no work was ever put there."""
        if call.stream is None:
            return None
        matching = [key for key in self.lanes.end if key[1] == call.stream]
        return (*matching[0], 0) if len(matching) == 1 else None

    def ended(self, ends, call):
        """Whether everything launched before had ended when the wait did; then waiting for it is what the call did."""
        return not ends or ends[-1] <= call.end + CONSISTENT_NS

    def sync(self, call):
        host = f" for={time_text(self.duration(call))}"
        if call.does == "sync_event":
            mark = self.known_events.get(call.event)
            if mark is not None and mark <= call.end + CONSISTENT_NS:
                self.line(call.thread, f"sync event {self.events.of(call.event, f'e{len(self.events.names) + 1}')}{host}")
                return
        elif call.does == "sync_stream":
            lane = self.lane_of(call)
            if lane is not None and self.ended(self.lanes.ends[lane[:2]], call):
                self.line(call.thread, f"sync stream {self.lanes.name(lane)}{host}")
                return
        # For everything on the device: also what a wait of unknown object may be, when all of it had ended.
        device_ends = [ends[-1] for (device, _), ends in self.lanes.ends.items() if device == call.device]
        if all(end <= call.end + CONSISTENT_NS for end in device_ends):
            lane = next((lane for lane in self.lanes.names.names if lane[0] == call.device), None)
            if call.does != "sync_device":
                self.notes["waits for an unknown stream or event: for the device"] += 1
            if lane is not None:
                self.line(call.thread, f"sync device {self.lanes.name(lane)}{host}")
                return
        self.notes["waits that ended before the work that they are said to wait for: said as time"] += 1
        self.line(call.thread, f"sleep {time_text(self.duration(call))}")

    def record(self, call):
        lane = self.lane_of(call)
        if lane is None or call.event is None:
            return self.as_time(call)
        ends = self.lanes.ends[lane[:2]]
        self.known_events[call.event] = ends[-1] if ends else 0
        self.line(call.thread, f"record {self.events.of(call.event, f'e{len(self.events.names) + 1}')} {self.lanes.name(lane)}")
        self.rest(call)

    def await_event(self, call):
        lane = self.lane_of(call)
        if lane is None or call.event not in self.known_events:
            return self.as_time(call)
        self.line(call.thread, f"await {self.lanes.name(lane)} {self.events.of(call.event, '')}")
        self.rest(call)

    def query(self, call):
        if call.does == "query_stream" and (lane := self.lane_of(call)) is not None:
            self.line(call.thread, f"query stream {self.lanes.name(lane)}")
        elif call.does == "query_event" and call.event in self.known_events:
            self.line(call.thread, f"query event {self.events.of(call.event, '')}")
        else:
            return self.as_time(call)
        self.rest(call)

    def rest(self, call):
        """The host time of a call that the simulator gives none."""
        if call.end > self.at[call.thread]:
            self.line(call.thread, f"work {time_text(call.end - self.at[call.thread])}")

    def alloc(self, call):
        kind = call.does.split("_")[1]
        if not 1 <= call.bytes <= 1 << 36:
            return self.as_time(call)
        self.allocated[(call.thread, kind)] += 1
        self.line(call.thread, f"alloc {kind} {call.bytes} for={time_text(self.duration(call))}")

    def free(self, call):
        kind = call.does.split("_")[1]
        device_ends = [ends[-1] for (device, _), ends in self.lanes.ends.items() if device == call.device]
        if (not self.allocated[(call.thread, kind)] or self.duration(call) < FREE_NS
                or any(end > call.end for end in device_ends)):
            return self.as_time(call)
        self.allocated[(call.thread, kind)] -= 1
        self.line(call.thread, f"free {kind}")
        if self.duration(call) > FREE_NS:
            self.line(call.thread, f"work {time_text(self.duration(call) - FREE_NS)}")

    def unlaunched(self):
        """Work whose launch is not in the trace: launched by a thread of its own, far ahead."""
        ops = sorted(self.trace.ops_without_call, key=lambda op: (op.begin, op.end))
        if not ops:
            return
        self.trace.thread_names[UNLAUNCHED] = UNLAUNCHED
        self.notes["work without its launch: launched by thread unlaunched"] += len(ops)
        for op in ops:
            lane = self.lanes.place(op.device, (UNLAUNCHED, op.stream), op.begin, op.end)
            if op.kind == "whole":
                self.notes["graphs without their launch: left out"] += 1
                continue
            self.line(UNLAUNCHED, f"{self.statement(op, self.lanes.name(lane))} for=1ns at={time_text(op.begin - self.base)}")

    SAYS = {"sync": sync, "record": record, "await": await_event, "query": query, "alloc": alloc, "free": free}

    def text(self):
        if self.lanes.twins:
            self.notes["streams with work that overlaps: twin streams"] += self.lanes.twins
        head = ["stallscope-script 1", f"# From {self.trace.source}."]
        for what in [what for what, count in self.notes.items() if not count]:
            del self.notes[what]
        head += [f"# {count} {what}." for what, count in sorted(self.notes.items())]
        head.append("")
        for (device, _, _), name in ((lane, name) for lane, name in self.lanes.names.names.items()):
            head.append(f"stream {name} nonblocking" + (f" device={device}" if device else ""))
        head += [f"event {name}" for name in self.events.names.values()]
        head += [f"queue {name}" for name in self.queues.names.values()]
        parts = ["\n".join(head), *self.graph_text]
        for thread, lines in self.out.items():
            parts.append("\n".join([f"thread {self.thread_name(thread)}", *(f"  {line}" for line in lines), "end\n"]))
        return "\n".join(parts)


def script(trace):
    """The script's text; what it leaves out is in trace.notes."""
    return Scheduler(trace).script()
