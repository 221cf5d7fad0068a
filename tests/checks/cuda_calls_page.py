#!/usr/bin/env python3
"""docs/cuda-calls.md is written from the agent's tables of CUDA calls; this says whether it still is, and whether a call of
the runtime that may wait or enqueues work is in neither of its tables.

usage: cuda_calls_page.py ROOT [CUDA_INCLUDE] [--write]
"""
import pathlib
import re
import sys

INTRODUCTION = """# The CUDA calls that Stallscope sees

<!-- Written by tests/checks/cuda_calls_page.py --write from agent/cuda/runtime_calls.h, driver_calls.h and driver_memory_calls.h,
     what a class means from agent/cuda/call_table.h and collector/budget/walk_back.cc: do not edit. -->

A call is one record, whoever saw it: the interposed function, CUPTI's callback, or both (`docs/decisions/0002-cuda-calls-from-callbacks.md`).
Every call of these tables is recorded, however short, with begin, end, thread, result and, where CUPTI saw it, the correlation id that
joins it to what the GPU did. Exceptions: queries in a row that find the work unfinished become one record with their number, and what
CUDA calls inside a recorded call belongs to that call. A call on a stream that is being captured is marked: nothing ran. What became of
memory (allocation, release, pinning, trim) is told by CUPTI's memory records, and by the call where they do not come or do not know it.

| who calls | seen by |
|---|---|
| the runtime as a shared library, whatever its version (11 to 13) | the interposed function, and CUPTI's callback |
| a runtime inside the program or another library (nvcc's default) | CUPTI's callback alone; of functions whose form has changed, the one that CUDA 13 has |
| the driver, by a program or library that is linked to libcuda | the interposed function, and CUPTI's callback |
| the driver, by dlsym or cuGetProcAddress (the runtime, Triton, NCCL, cuBLAS) | CUPTI's callback alone |
| the driver's memory and module calls | CUPTI's callback alone |

Without CUPTI, or while another tool holds it, what is interposed goes on, without correlation ids.

## What a class means

*Line*: what a gap of the GPU is charged to while its thread sits in such a call (`docs/budget.md`); the call's own work on the GPU goes to
the `gpu.*` lines. *Over-wait*: whether the time after the awaited work has ended is `host.sync_overwait`. *Shown live*: whether the thread counts as blocked
in it while it runs.

| class | line | can over-wait | shown live |
|---|---|---|---|
"""

# What the collector looks at beyond the class; the rest of a class's row comes from the code.
OVER_WAIT = {
    "kSyncDevice": "yes: for the device", "kSyncStream": "yes: for the stream", "kSyncEvent": "yes: for the event",
    "kCopySync": "yes: for its own copy and what its stream did before",
    "kCopyAsync": "only a device-to-host copy that kept its caller until it had ended (pageable memory); it is then `host.copy_api`",
}
WORDS = {
    "kOther": "other", "kLaunch": "launch", "kGraphLaunch": "graph launch", "kCopyAsync": "asynchronous copy", "kCopySync": "blocking copy",
    "kMemset": "fill", "kSyncDevice": "device synchronize", "kSyncStream": "stream synchronize", "kSyncEvent": "event synchronize",
    "kEventRecord": "event record", "kStreamWaitEvent": "stream wait", "kQueryEvent": "event query", "kQueryStream": "stream query",
    "kAlloc": "allocation", "kFree": "release", "kHostAlloc": "pinned allocation", "kHostRegister": "pinning", "kGraphBuild": "graph building",
    "kModuleLoad": "module load", "kHostFunc": "host function",
}
EVENTS = {"kSyncEvent", "kEventRecord", "kStreamWaitEvent", "kQueryEvent"}
GRAPHS = {"kGraphLaunch", "kGraphBuild"}
COPIES = {"kCopyAsync", "kCopySync"}
MEMORY = {"Allocated": "bytes, and the allocation with its address", "Freed": "the release with its address", 
          "Pinned": "bytes, and the pinning with its address",
          "Unpinned": "the end of the pinning, with its address", "Trimmed": "bytes to keep, and the trim with its pool"}

LEFT_ALONE = "#define STALLSCOPE_CUDA_CALLS_LEFT_ALONE"

# Names of the runtime that must stand in one of the two tables.
WAITS_OR_WORKS = re.compile(
    r"Synchronize|Async|Prefetch|Query$|RDMA|Reset$|MemTrim|TrimTo|MapResources|UnmapResources|Ipc\w+MemHandle|LibraryLoad|"
    r"^cuda(Memcpy|Memset|Malloc|Free|HostAlloc|HostRegister|HostUnregister|Launch|EventRecord)|"
    r"^cudaStream(WaitEvent|AddCallback|BeginCapture|EndCapture)|^cudaGraph(Launch|Upload|Instantiate|ExecUpdate|ExecDestroy)")


def arguments(text, at):
    """The top-level arguments of the parenthesis that opens at `at`."""
    depth, parts, part = 0, [], ""
    for c in text[at:]:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0:
            return parts + [part.strip()]
        if c == "," and depth == 1:
            parts.append(part.strip())
            part = ""
        elif not (c == "(" and depth == 1):
            part += c
    raise ValueError("a parenthesis does not close")


def rows(text):
    """(name, class, object, argument, copy) of each call of a table; twins are two."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", " ", text, flags=re.S)
    for found in re.finditer(r"(?<!\w)(X|Y|STALLSCOPE_CUDA_TWIN|STALLSCOPE_DRIVER_TWIN)\(", text):
        macro, values = found.group(1), arguments(text, found.end() - 1)
        if macro == "X" and len(values) == 8:
            yield (values[0], values[2], *values[5:])
        elif macro == "Y" and len(values) == 7:
            yield (values[0], values[1], *values[4:])
        elif macro == "STALLSCOPE_CUDA_TWIN" and len(values) == 11:
            for name in (values[1], values[1] + values[3]):
                yield (name, values[5], *values[8:])
        elif macro == "STALLSCOPE_DRIVER_TWIN" and len(values) == 9:
            for name in (values[1], values[1] + values[2]):
                yield (name, values[3], *values[6:])
        elif values[-1] not in ("...", "__VA_ARGS__"):  # the definitions of the twins
            raise ValueError(f"a row of the table does not read like the others: {values}")


def recorded(call_class, thing, argument, copy):
    parts = [] if thing == "0" else ["stream"]
    memory = re.search("|".join(f"{name}(?=\\()" for name in MEMORY), argument)
    if memory:
        parts.append(MEMORY[memory.group(0)] + (", which CUPTI does not tell" if "Always(" in argument or "inned" in memory.group(0) else ""))
    elif argument != "0":
        parts.append("event" if call_class in EVENTS else "executable graph" if call_class in GRAPHS else "bytes")
    if call_class in COPIES and copy != "0":
        parts.append("direction")
    return ", ".join(parts)


def table(text):
    calls = list(rows(text))
    names = {name for name, *_ in calls}
    out = "| call | per-thread default stream | class | recorded besides |\n|---|---|---|---|\n"
    for name, call_class, thing, argument, copy in calls:
        base = re.sub(r"_(ptsz|ptds)$", "", name)
        if base != name and base in names:
            continue
        twin = next((f"`{name}_{suffix}`" for suffix in ("ptsz", "ptds") if f"{name}_{suffix}" in names), "")
        out += f"| `{name}` | {twin} | {WORDS[call_class]} | {recorded(call_class, thing, argument, copy)} |\n"
    return out


def lines_of_classes(walk_back):
    """Class -> line, from the switch that charges a call."""
    begin = walk_back.index("switch (call.call_class)")
    lines, waiting = {}, []
    for name, line in re.findall(r"case CudaCallClass::(k\w+):|return Line::k(\w+);", walk_back[begin:]):
        if name:
            waiting.append(name)
            continue
        group, rest = re.match(r"([A-Z][a-z]+)(\w+)", line).groups()
        snake = re.sub(r"(?<!^)([A-Z])", r"_\1", rest).lower()
        for one in waiting:
            lines.setdefault(one, f"`{group.lower()}.{snake}`")
        waiting = []
        if len(lines) == len(WORDS):
            break
    return lines


def blocking_classes(call_table):
    body = call_table[call_table.index("constexpr bool Blocks("):]
    return set(re.findall(r"CudaCallClass::(k\w+):", body[:body.index("default:")]))


def left_alone(text):
    for literals, why in re.findall(r'X\(((?:"[^"]*"[\s\\]*)+),[\s\\]*"([^"]*)"\)', text[text.index(LEFT_ALONE):]):
        yield "".join(re.findall(r'"([^"]*)"', literals)).split(), why


def page(root):
    runtime = (root / "agent/cuda/runtime_calls.h").read_text()
    lines = lines_of_classes((root / "collector/budget/walk_back.cc").read_text())
    blocking = blocking_classes((root / "agent/cuda/call_table.h").read_text())
    out = INTRODUCTION
    for name, words in WORDS.items():
        out += f"| {words} | {lines[name]} | {OVER_WAIT.get(name, '')} | {'yes' if name in blocking else ''} |\n"
    out += "\n## The runtime\n\n" + table(runtime[:runtime.index(LEFT_ALONE)])
    out += "\n## The driver\n\n" + table((root / "agent/cuda/driver_calls.h").read_text())
    out += "\n## The driver's memory and modules, by callback\n\n" + table((root / "agent/cuda/driver_memory_calls.h").read_text())
    out += "\n## Runtime calls that are left alone\n\n| call | why |\n|---|---|\n"
    for names, why in left_alone(runtime):
        out += f"| {' '.join(f'`{name}`' for name in names)} | {why} |\n"
    return out


def forgotten(runtime_header, runtime_calls):
    """Calls of the runtime's header that wait or enqueue work and stand in no table."""
    known = {name for name, *_ in rows(runtime_calls[:runtime_calls.index(LEFT_ALONE)])} | {name for names, _ in left_alone(runtime_calls) for name in names}
    declared = set(re.findall(r"CUDARTAPI\s+(cuda\w+)\s*\(", runtime_header))
    return sorted(name for name in declared - known
                  if WAITS_OR_WORKS.search(name) and not re.search(r"Graph(Add|Exec\w*Node|\w+NodeGet|\w+NodeSet)|_v\d+$|_pts?[dz]s?$", name))


def main():
    root = pathlib.Path(sys.argv[1])
    more = [value for value in sys.argv[2:] if not value.startswith("-")]
    expected = page(root)
    target = root / "docs/cuda-calls.md"
    if "--write" in sys.argv[2:]:
        target.write_text(expected)
        return 0
    wrong = []
    if not target.exists() or target.read_text() != expected:
        wrong.append("docs/cuda-calls.md is not what the tables say: tests/checks/cuda_calls_page.py ROOT --write")
    header = pathlib.Path(more[0]) / "cuda_runtime_api.h" if more else None
    if header is not None and header.exists():
        for name in forgotten(header.read_text(errors="replace"), (root / "agent/cuda/runtime_calls.h").read_text()):
            wrong.append(f"{name}: neither recorded nor left alone with a reason (agent/cuda/runtime_calls.h)")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
