"""What the converters have in common: a recorded run as host calls, device work, waits and hand-overs.

Readers (from_capture.py, from_nsys.py, from_kineto.py) make a Trace; schedule.py makes a script of it. Times are integer
nanoseconds of one clock, whichever. Threads, streams and events are any hashable keys.
"""
import collections
import dataclasses


class Refused(Exception):
    """Why a trace cannot become a script, in one line for people."""


@dataclasses.dataclass(slots=True)
class Op:
    """One piece of device work."""
    kind: str  # kernel, copy, fill, or whole: a graph of which only the whole was traced
    device: int
    stream: object
    begin: int
    end: int
    name: str = ""
    bytes: int = 0
    copy: str = "d2d"  # h2d, d2h, d2d, h2h, p2p
    grid: tuple = ()
    block: tuple = ()


@dataclasses.dataclass(slots=True)
class Call:
    """One API call. `does` says what to make of it; work that belongs to it is in `ops`."""
    thread: object
    begin: int
    end: int
    name: str
    does: str = "other"  # launch, graph, sync_device, sync_stream, sync_event, record, await, query_stream, query_event,
    #                      alloc_device, alloc_pinned, alloc_registered, free_device, free_pinned, free_registered, other
    stream: object = None  # where one is named
    event: object = None
    device: int = 0  # of a device-wide wait
    bytes: int = 0
    ops: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Wait:
    """A thread stood still. With a waker: until that thread, at that moment, let it go."""
    thread: object
    begin: int
    end: int
    waker: object = None
    woken_at: int = 0


@dataclasses.dataclass(slots=True)
class Step:
    thread: object
    at: int
    tokens: int


@dataclasses.dataclass
class Trace:
    source: str
    calls: list = dataclasses.field(default_factory=list)
    ops_without_call: list = dataclasses.field(default_factory=list)
    waits: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)
    thread_names: dict = dataclasses.field(default_factory=dict)
    # What is not as it was, by what it is: said in the script's head and by the converter.
    notes: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def ops(self):
        for call in self.calls:
            yield from call.ops
        yield from self.ops_without_call


def attach(trace, ops_by_correlation, calls_by_correlation):
    """Gives work to the call that launched it; what has none stays by itself."""
    for key, ops in ops_by_correlation.items():
        call = calls_by_correlation.get(key) if key is not None else None
        if call is None:
            trace.ops_without_call.extend(ops)
        else:
            call.ops.extend(ops)


# What a function of the CUDA runtime, the driver or HIP does, by a part of its name; the first that fits.
DOES = (("GraphLaunch", "graph"), ("LaunchHostFunc", "other"), ("Launch", "launch"),
        ("DeviceSynchronize", "sync_device"), ("CtxSynchronize", "sync_device"), ("ThreadSynchronize", "sync_device"),
        ("StreamSynchronize", "sync_stream"), ("EventSynchronize", "sync_event"),
        ("StreamWaitEvent", "await"), ("EventRecord", "record"),
        ("StreamQuery", "query_stream"), ("EventQuery", "query_event"),
        ("HostRegister", "alloc_registered"), ("HostUnregister", "free_registered"),
        ("MallocHost", "alloc_pinned"), ("HostAlloc", "alloc_pinned"), ("HostMalloc", "alloc_pinned"),
        ("FreeHost", "free_pinned"), ("HostFree", "free_pinned"),
        ("cudaMallocManaged", "other"), ("cudaMalloc", "alloc_device"), ("cuMemAlloc", "alloc_device"),
        ("hipMalloc", "alloc_device"), ("cudaFree", "free_device"), ("cuMemFree", "free_device"), ("hipFree", "free_device"))
NOT_THOSE = ("Async", "Array", "Pitch", "3D", "Batch")  # of allocations: others than cudaMalloc's kind


def does(name):
    if "emcpy" in name or "emset" in name:
        return "launch"
    for part, what in DOES:
        if part in name:
            if what.startswith(("alloc", "free")) and any(other in name for other in NOT_THOSE):
                return "other"
            return what
    return "other"
