"""A trace of torch.profiler (Kineto, Chrome JSON, plain or gzip, 2021 to 2026, CUDA and HIP) as a Trace."""
import collections
import decimal
import gzip
import json
import pathlib
import zlib

from trace import Call, Op, Refused, Trace, attach, does

KERNELS = {"kernel", "concurrent_kernel"}
COPIES = {"gpu_memcpy", "memcpy"}
FILLS = {"gpu_memset", "memset"}
CALLS = {"cuda_runtime", "cuda_driver", "runtime", "driver"}
COPY_KINDS = (("HtoD", "h2d"), ("DtoH", "d2h"), ("HtoH", "h2h"), ("PtoP", "p2p"))
MOST_DEVICES = 16


def nanoseconds(microseconds):
    """Microseconds with a fraction; doubles would lose nanoseconds of timestamps near 2e15."""
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value())


def document(path):
    content = pathlib.Path(path).read_bytes()
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        parsed = json.loads(content.decode("utf-8", "replace"), strict=False, parse_float=decimal.Decimal)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise Refused(f"{path}: not a Kineto trace ({error})") from error
    found = parsed.get("traceEvents") if isinstance(parsed, dict) else parsed
    if not isinstance(found, list):
        raise Refused(f"{path}: it has no list traceEvents, so it is no Kineto trace")
    return [event for event in found if isinstance(event, dict) and event.get("ph") == "X"]


def correlation_of(category, args):
    fallback = args.get("External id") if category in CALLS else None
    return args.get("correlation", args.get("correlation id", fallback))


def op_of(category, event, args, begin, end):
    device = args.get("device", args.get("device id", event.get("pid")))
    stream = args.get("stream", args.get("stream id", event.get("tid")))
    name = str(event.get("name", ""))
    size = args.get("bytes", 0)
    op = Op("kernel", device, stream, begin, end, name=name, bytes=int(size) if str(size).isdigit() else 0)
    if category in COPIES:
        op.kind = "copy"
        op.copy = next((kind for part, kind in COPY_KINDS if part in name), "d2d")
    elif category in FILLS:
        op.kind = "fill"
    elif isinstance(args.get("grid"), list) and isinstance(args.get("block"), list):
        op.grid, op.block = tuple(args["grid"]), tuple(args["block"])
    return op


def read(path):
    trace = Trace(str(path).rsplit("/", 1)[-1])
    ops, calls, syncs = collections.defaultdict(list), {}, []
    for event in document(path):
        category, args = str(event.get("cat", "")).lower(), event.get("args") or {}
        if category not in KERNELS | COPIES | FILLS | CALLS | {"cuda_sync"}:
            continue
        begin = nanoseconds(event["ts"])
        duration = nanoseconds(event.get("dur", 0))
        if duration < 0:
            raise Refused(f"{path}: impossible timing: {event.get('name')} at {event['ts']} us lasts {event['dur']} us")
        correlation = correlation_of(category, args)
        if category in CALLS:
            name = str(event.get("name", ""))
            call = Call((event.get("pid"), event.get("tid")), begin, begin + duration, name, does(name))
            trace.thread_names[call.thread] = f"t{event.get('tid')}"
            trace.calls.append(call)
            if correlation is not None:
                calls.setdefault(correlation, call)
                if does(name) in ("launch", "graph"):
                    calls[correlation] = call
        elif category == "cuda_sync":
            syncs.append((correlation, args))
        else:
            ops[correlation].append(op_of(category, event, args, begin, begin + duration))
    attach(trace, ops, calls)
    number_devices(trace)
    name_waits(calls, syncs)
    return trace


def number_devices(trace):
    """Devices from 0 in the order of their numbers: a trace may know only the tenth."""
    known = sorted({op.device for op in trace.ops()}, key=str)
    if len(known) > MOST_DEVICES:
        raise Refused(f"{trace.source}: {len(known)} devices; a script has at most {MOST_DEVICES}")
    numbers = {device: number for number, device in enumerate(known)}
    for op in trace.ops():
        op.device = numbers[op.device]
    if known and known != list(range(len(known))):
        trace.notes[f"devices are numbered anew ({', '.join(map(str, known))} in the trace)"] += len(known)


def name_waits(calls, syncs):
    """What a wait waited for stands in a record of its own, under the wait's correlation id."""
    recorded = {}
    for correlation, args in syncs:
        call = calls.get(correlation)
        if call is None:
            continue
        if args.get("stream") not in (None, -1):
            call.stream = args["stream"]
        event = args.get("wait_on_cuda_event_id")
        record = calls.get(args.get("wait_on_cuda_event_record_corr_id"))
        if event is not None and record is not None and args.get("wait_on_stream") not in (None, -1):
            # The record call says nothing of its event or stream: told by whoever waited for it.
            record.event, record.stream = recorded.setdefault(id(record), event), args["wait_on_stream"]
            call.event = record.event
