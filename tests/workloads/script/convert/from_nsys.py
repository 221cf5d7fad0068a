"""An Nsight Systems export (SQLite, versions 2020 to 2026) as a Trace: every process of it, each thread for itself."""
import collections
import re
import sqlite3

from trace import Call, Op, Refused, Trace, Wait, attach, does

COPY_KINDS = {1: "h2d", 2: "d2h", 3: "h2d", 4: "d2h", 8: "d2d", 9: "h2h", 10: "p2p", 11: "h2d", 12: "d2h", 13: "d2d"}
OSRT_CALL = 27           # eventClass of a call; 31 and 32 are markers
NO_STREAM = 0xFFFFFFFF
SYNC_EVENT, SYNC_STREAM_WAIT = 1, 2
LONG_WAIT_NS = 20_000    # a shorter OS call stays part of the host time


class Export:
    def __init__(self, path):
        try:
            self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            self.tables = {row[0] for row in self.connection.execute("select name from sqlite_master where type='table'")}
        except sqlite3.Error as error:
            raise Refused(f"{path}: not an SQLite export of Nsight Systems ({error})") from error
        if "StringIds" not in self.tables:
            raise Refused(f"{path}: it has no table StringIds, so it is no export of Nsight Systems")
        self.strings = dict(self.connection.execute("select id, value from StringIds"))

    def rows(self, table, *columns):
        """Rows of a table that may lack columns (None) or be missing (no rows)."""
        if table not in self.tables:
            return
        known = {row[1] for row in self.connection.execute(f'pragma table_info("{table}")')}
        chosen = ", ".join(f'"{column}"' if column in known else "NULL" for column in columns)
        yield from self.connection.execute(f'select {chosen} from "{table}"')

    def string(self, number):
        return self.strings.get(number, f"string {number}")


def process_of(global_id):
    return (global_id or 0) & ~0xFFFFFF


def read(path):
    export = Export(path)
    trace = Trace(str(path).rsplit("/", 1)[-1])
    calls = read_calls(export, trace)
    processes = {process_of(call.thread) for call in trace.calls}
    only = next(iter(processes)) if len(processes) == 1 else 0

    def process(global_pid):
        return process_of(global_pid) or only  # exports of 2020 do not say

    ops = collections.defaultdict(list)
    read_kernels(export, process, ops)
    read_copies_and_fills(export, process, ops)
    for begin, end, device, stream, correlation, pid in export.rows(
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start", "end", "deviceId", "streamId", "correlationId", "globalPid"):
        ops[(process(pid), correlation)].append(Op("whole", device, stream_key(process(pid), stream), begin, end))
    attach(trace, ops, calls)
    read_synchronizations(export, process, calls)
    for begin, end, thread, event_class in export.rows("OSRT_API", "start", "end", "globalTid", "eventClass"):
        if end is not None and event_class in (OSRT_CALL, None) and end - begin >= LONG_WAIT_NS:
            trace.waits.append(Wait(thread, begin, end))
    for thread, name in export.rows("ThreadNames", "globalTid", "nameId"):
        trace.thread_names[thread] = export.string(name)
    return trace


def read_calls(export, trace):
    calls = {}
    for begin, end, thread, correlation, name in export.rows(
            "CUPTI_ACTIVITY_KIND_RUNTIME", "start", "end", "globalTid", "correlationId", "nameId"):
        name = re.sub(r"_v\d{4}$", "", export.string(name))
        call = Call(thread, begin, end, name, does(name))
        trace.calls.append(call)
        trace.thread_names.setdefault(thread, f"p{(thread or 0) >> 24 & 0xFFFFFF}.t{(thread or 0) & 0xFFFFFF}")
        if correlation is not None:
            calls[(process_of(thread), correlation)] = call
    return calls


def stream_key(process, stream):
    return (process >> 24 & 0xFFFFFF, stream)


def read_kernels(export, process, ops):
    for begin, end, device, stream, correlation, pid, name, *shape in export.rows(
            "CUPTI_ACTIVITY_KIND_KERNEL", "start", "end", "deviceId", "streamId", "correlationId", "globalPid",
            "demangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"):
        op = Op("kernel", device, stream_key(process(pid), stream), begin, end, name=export.string(name))
        if None not in shape:
            op.grid, op.block = tuple(shape[:3]), tuple(shape[3:])
        ops[(process(pid), correlation)].append(op)


def read_copies_and_fills(export, process, ops):
    for begin, end, device, stream, correlation, pid, kind, size in export.rows(
            "CUPTI_ACTIVITY_KIND_MEMCPY", "start", "end", "deviceId", "streamId", "correlationId", "globalPid", "copyKind",
            "bytes"):
        ops[(process(pid), correlation)].append(Op("copy", device, stream_key(process(pid), stream), begin, end,
                                                   bytes=size or 0, copy=COPY_KINDS.get(kind, "d2d")))
    for begin, end, device, stream, correlation, pid, size in export.rows(
            "CUPTI_ACTIVITY_KIND_MEMSET", "start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes"):
        ops[(process(pid), correlation)].append(Op("fill", device, stream_key(process(pid), stream), begin, end,
                                                   bytes=size or 0))


def read_synchronizations(export, process, calls):
    """What waits waited for, and which event a record recorded, where the export says it."""
    for correlation, device, stream, pid, kind, event in export.rows(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "correlationId", "deviceId", "streamId", "globalPid", "syncType", "eventId"):
        call = calls.get((process(pid), correlation))
        if call is None:
            continue
        call.device = device or 0
        if stream not in (None, NO_STREAM):
            call.stream = stream_key(process(pid), stream)
        if kind in (SYNC_EVENT, SYNC_STREAM_WAIT):
            call.event = (process(pid), event)
    for correlation, stream, pid, event in export.rows(
            "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "correlationId", "streamId", "globalPid", "eventId"):
        call = calls.get((process(pid), correlation))
        if call is not None:
            call.stream, call.event = stream_key(process(pid), stream), (process(pid), event)
