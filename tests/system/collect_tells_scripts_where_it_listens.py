"""collect --json and stallscoped --json: an object when they listen, one at the end; the same members; wrong usage is one line."""
import json
import subprocess

from road import BUILD, DEFAULT_SOCKET, STALLSCOPE, TOKEN_LOOP, end, start, tool

members = []
for command in ((STALLSCOPE, "collect"), (BUILD / "bin/stallscoped",)):
    collector = start(*command, "--json", stdout=subprocess.PIPE, text=True)
    began = json.loads(collector.stdout.readline())
    assert began["pid"] == collector.pid and began["socket"] == str(DEFAULT_SOCKET) and ":" in began["http"], began
    assert tool("run", "--quiet", "--collector", began["socket"], "--", TOKEN_LOOP, 20).returncode == 0
    assert end(collector) == 0
    ended = json.loads(collector.stdout.readline())
    assert ended["processes"] == 1 and ended["events"] > 100 and ended["socket_bytes"] > 100, ended
    members.append((list(began), list(ended)))
assert members[0] == members[1], members

wrong = subprocess.run([BUILD / "bin/stallscoped", "--nosuch"], capture_output=True, text=True, check=False, timeout=50)
assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1, wrong
assert wrong.stderr.startswith("stallscoped: ") and "--nosuch" in wrong.stderr and "--help" in wrong.stderr, wrong.stderr
