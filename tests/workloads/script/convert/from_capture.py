"""A capture of ours (.stallcap) as a Trace, read through `stallscope dump --format json`."""
import collections
import json
import subprocess

from trace import Call, Op, Refused, Step, Trace, Wait, attach, does

COPY_KINDS = {0: "h2h", 1: "h2d", 2: "d2h", 3: "d2d", 10: "p2p"}
PER_THREAD = "0x2"  # cudaStreamPerThread: another stream in each thread
WITH_ARGUMENT_EVENT = {"record", "await", "sync_event", "query_event"}


def events(path, stallscope):
    with subprocess.Popen([stallscope, "dump", str(path), "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as dump:
        for line in dump.stdout:
            yield json.loads(line)
        error = dump.stderr.read().strip()
    if dump.returncode:
        raise Refused(error or f"stallscope dump {path} ended with {dump.returncode}")


def busiest(records):
    """The process with the most device work, or with the most events where none has any."""
    work = collections.Counter(record["pid"] for record in records if record["kind"] == "gpu")
    return (work or collections.Counter(record["pid"] for record in records)).most_common(1)[0][0]


def op_of(record):
    kind = {"memset": "fill", "graph": "whole"}.get(record["op"], record["op"])
    return Op(kind, record["device"], record["stream"], record["begin_ns"], record["end_ns"],
              name=record["name"] if kind == "kernel" else "", bytes=record.get("bytes", 0),
              copy=COPY_KINDS.get(record.get("copy_kind"), "d2d"))


def matched_waits(waits, wakes):
    """Each wait with the wake that ended it: of the same object, while it waited, each wake of one thread once."""
    by_object = collections.defaultdict(list)
    for wake in wakes:
        by_object[wake["object"]].append(wake)
    used = set()
    for record in sorted(waits, key=lambda record: record["end_ns"]):
        wait = Wait(record["tid"], record["begin_ns"], record["end_ns"])
        for wake in reversed(by_object.get(record.get("object"), ())):
            at = wake["begin_ns"]
            everybody = "broadcast" in wake["name"]
            if (wait.begin <= at <= wait.end and wake["tid"] != wait.thread and (everybody or id(wake) not in used)
                    and wake.get("woken_tid", wait.thread) == wait.thread):
                used.add(id(wake))
                wait.waker, wait.woken_at = wake["tid"], at
                break
        yield wait


def read(path, stallscope, pid=None):
    records = list(events(path, stallscope))
    if not records:
        raise Refused(f"{path}: there is nothing in this capture")
    pid = pid or busiest(records)
    trace = Trace(f"{path}, process {pid}")
    ops, calls, waits, wakes = collections.defaultdict(list), {}, [], []
    simulated = False
    for record in records:
        if record["pid"] != pid:
            continue
        kind = record["kind"]
        simulated |= kind == "process" and record.get("gpu") == "simulated"
        if kind == "gpu" and record["op"] in ("kernel", "copy", "memset", "graph"):
            ops[record.get("correlation")].append(op_of(record))
        elif kind == "cuda":
            what = does(record["name"])
            handle = record.get("stream", "0x0")
            call = Call(record["tid"], record["begin_ns"], record["end_ns"], record["name"].rsplit("_v", 1)[0], what,
                        stream=(handle, record["tid"]) if handle == PER_THREAD else handle)
            argument = record.get("argument")
            if what in WITH_ARGUMENT_EVENT:
                call.event = argument
            elif what.startswith("alloc") and argument:
                call.bytes = int(argument, 16)
            trace.calls.append(call)
            if "correlation" in record:
                calls[record["correlation"]] = call
        elif kind == "wait":
            waits.append(record)
        elif kind == "wake":
            wakes.append(record)
        elif kind == "range" and record.get("range") == "step_marker":
            trace.steps.append(Step(record["tid"], record["begin_ns"], record.get("number", 0)))
        elif kind == "loss":
            trace.notes["records that the capture lost"] += record.get("records", 0)
        if "tid" in record and record.get("thread"):
            trace.thread_names[record["tid"]] = record["thread"]
    if simulated:
        trace.source += ", on the simulated GPU"
    trace.waits = list(matched_waits(waits, wakes))
    attach(trace, ops, calls)
    name_streams(trace)
    return trace


def name_streams(trace):
    """Calls name a stream by handle, work by number: the number of a handle is that of the work launched on it."""
    numbers = {call.stream: call.ops[0].stream for call in trace.calls if call.ops}
    for call in trace.calls:
        call.stream = numbers.get(call.stream)
