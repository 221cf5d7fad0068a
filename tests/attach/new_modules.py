"""A library that is loaded after the attach is hooked too, also one that was loaded with RTLD_DEEPBIND."""
import time

from subjects import BUILD, FOLDER, TARGETS, attach, finish, started
from road import dump, end, start_collector

PLUGIN = BUILD / "lib/libattach_plugin.so"


def one_line(process):
    process.stdin.write(b"go\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"ready")


for deep in ([], ["deep"]):
    name = "deep" if deep else "plain"
    capture = FOLDER / f"{name}.stallcap"
    collector = start_collector("--capture", capture, "--listen", FOLDER / f"{name}.sock")
    process = started(TARGETS, "plugin", PLUGIN, *deep)
    attach(process.pid, "--collector", FOLDER / f"{name}.sock")
    one_line(process)  # loads it
    one_line(process)  # a thread: from here on there is a streaming thread, which looks for new modules
    time.sleep(0.5)
    one_line(process)
    time.sleep(0.3)
    assert finish(process)[0] == 0
    end(collector)
    sleeps = [event for event in dump(capture) if event.get("name") in ("nanosleep", "usleep")]
    print(f"{name}: {len(sleeps)} waits of the library")
    assert len(sleeps) >= 10, (name, len(sleeps), [event for event in dump(capture)][:20])
