"""Two libraries take turns at one address: each wait names the function of the one that was loaded, or none."""
import ctypes.util
import json
import re

from road import BUILD, FOLDER, skip, tool

if not ctypes.util.find_library("unwind-x86_64"):
    skip("libunwind-x86_64.so.8 (Debian's libunwind8) is not installed")
PLUGINS = [BUILD / "lib/libstack_plugin_first.so", "first_function", BUILD / "lib/libstack_plugin_second.so",
           "second_function"]

# Waits walked by the thread itself, unloads faster than the streaming thread can look, and long waits, walked from outside.
for milliseconds, waits, times, least in ((1, 150, 6, 100), (1, 1, 200, 0), (120, 1, 6, 4)):
    capture = FOLDER / f"unloads-{milliseconds}-{waits}.stallcap"
    done = tool("run", "--level", "stacks", "--capture", capture, "--", BUILD / "bin/unloads_and_loads", milliseconds,
                waits, times, *PLUGINS)
    assert done.returncode == 0, done.stderr
    same = int(re.search(r"same address (\d+) of", done.stdout)[1])
    assert same > times / 2, "the libraries do not take each other's place here: " + done.stdout[:200]
    lines = [json.loads(line) for line in tool("dump", capture, "--format", "json").stdout.splitlines()]
    sleeps = [line for line in lines if line.get("name") == "nanosleep" and line["kind"] == "wait"]
    sleeps.sort(key=lambda line: line["begin_ns"])
    assert len(sleeps) == 2 * times * waits, (len(sleeps), times)
    named = wrong = 0
    for number, sleep in enumerate(sleeps):
        if "frames" not in sleep:
            continue
        innermost = sleep["frames"][0]
        right, other = ("first", "second") if number // waits % 2 == 0 else ("second", "first")
        named += innermost.startswith(right + "_function")
        wrong += innermost.startswith(other + "_function")
    print(f"{milliseconds} ms, {waits} a load: {named} of {len(sleeps)} named, {wrong} wrong")
    assert wrong == 0, f"{wrong} stacks name the other library"
    assert named >= least, (named, len(sleeps))
