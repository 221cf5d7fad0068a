#!/usr/bin/env python3
"""The agent goes where the program's environment goes: through exec, into children, and no further. A chain of execs keeps it; a program
that clears LD_PRELOAD, or starts a child with an environment of its own, is let go.

usage: exec_policy_test.py LIBRARY BUSY_WAITS
"""
import subprocess
import sys
import tempfile

import drain
from environment import Agent, wait_until


def sessions(agent, *command, environment=None):
    """(pid, goodbye before an exec) of each session, in order of their begin."""
    collector = drain.Collector(agent.socket)
    done = subprocess.run(command, env=environment or agent.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "done 100" in done.stdout and done.stderr == "", done
    wait_until(lambda: all(connection.closed.is_set() for connection in collector.connections), "the ends")
    found = []
    for connection in collector.connections:
        goodbyes = [dict(drain.fields(body)) for body in connection.of_kind(drain.GOODBYE)]
        found.append((connection.hello()[5], [goodbye.get(2, 0) for goodbye in goodbyes]))
    collector.close()
    collector.release()
    return found


def main():
    library, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(library, folder)
        # sh becomes env, env becomes sh, sh becomes the program: one pid, each of them traced.
        chain = sessions(agent, "/bin/sh", "-c", f'exec /usr/bin/env /bin/sh -c "exec {program} 100"')
        assert len({pid for pid, _ in chain}) == 1 and len(chain) == 4, chain
        print(f"kept through {len(chain)} programs of one process: ok")
        # The environment without LD_PRELOAD: the last program is not traced.
        cleared = sessions(agent, "/bin/sh", "-c", f'exec /usr/bin/env -u LD_PRELOAD {program} 100')
        assert len(cleared) == 2, cleared
        print("let go where LD_PRELOAD is taken out: ok")
        emptied = sessions(agent, "/usr/bin/env", "-i", program, "100")
        assert len(emptied) == 1, emptied
        print("let go where the environment is emptied: ok")
        # Children: one that is traced, one that is not.
        children = sessions(agent, "/bin/sh", "-c", f"{program} 100; /usr/bin/env -i {program} 100")
        pids = {pid for pid, _ in children}
        assert len(pids) == 3, children  # the shell, its first child, and env before it lets go
        print("children as their environment says: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
