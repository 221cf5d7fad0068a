#!/usr/bin/env python3
"""What does watching cost, ours and the peers', in one run?

In turns: the plain program, a bare interposer (a function in front that makes the call and does nothing), one that only reads the
clock twice, ours (every wait recorded, no collector), Nsight Systems with its own threshold of 1 us and with 1 ns, LTTng's pthread
wrapper without and with a session, bpftrace that times system calls, strace -c -f, perf trace -s. The program is agent/os/overhead_bench.c, once as it is and once with a second thread that does
nothing: some tools make threads, and what the C library itself does differently then is not to be counted as theirs. For each call
and tool the fastest of all turns counts, since others share the machine. Then a program that makes 2 million recorded events a
second runs under `stallscope run`: what was lost?

What this machine or kernel lacks is left out with its reason, and the number of those is printed.
usage: peers.py --build build/release [--turns 10] [--scale 1] [--flood-seconds 3] [--kinds ours,nsys] [--json] [--check]
  --check   exit code 1 when a goal is missed: an uncontended mutex pair at most 3 ns more and not above nsys, a recorded wait at
            most 25 ns more and with a warm stack at most 250, no event lost
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WRAPPER = "liblttng-ust-pthread-wrapper.so.1"
CALLS = {"mutex_pair": "mutex lock and unlock, uncontended", "rwlock_pair": "rwlock pair, uncontended",
         "semaphore_pair": "semaphore pair, uncontended", "cond_timedwait": "`pthread_cond_timedwait`, deadline passed",
         "epoll_wait_0": "`epoll_wait`, timeout 0", "poll_0": "`poll`, timeout 0", "read": "`read`", "write": "`write`",
         "sched_yield": "`sched_yield`"}
RECORDED = ("cond_timedwait", "epoll_wait_0", "poll_0", "read", "write", "sched_yield")
# Tools that make a call some 20 to 100 times dearer run a short program.
SLOW_SCALE = 0.01


class LeftOut(Exception):
    """Why a tool cannot be measured here."""


def cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))) / "stallscope"


def need(program, package):
    path = shutil.which(program)
    if not path:
        raise LeftOut(f"no {program} (tools/setup --for peers installs {package})")
    return path


def find_nsys():
    fetched = cache_folder() / "nsight-systems/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys"
    if fetched.exists():
        return str(fetched)
    found = shutil.which("nsys")
    if not found:
        raise LeftOut("no nsys (tools/setup --for peers fetches it, where the registry carries Debian's non-free section)")
    return found


class Bench:
    def __init__(self, build, folder, scale):
        self.program, self.library = build / "bin/agent_overhead_bench", build / "lib/libstallscope.so"
        self.folder, self.scale, self.threaded = folder, scale, []
        self.clean = {name: value for name, value in os.environ.items()
                      if not name.startswith("STALLSCOPE_") and name != "LD_PRELOAD"}
        self.lttng_started = None

    def ours(self):
        return dict(self.clean, LD_PRELOAD=str(self.library), STALLSCOPE_WAIT_THRESHOLD_NS="0",
                    STALLSCOPE_SOCKET=os.path.join(self.folder, "nobody.sock"))

    def run(self, before=(), environment=None, scale=None, arguments=()):
        command = [*before, str(self.program), str(scale or self.scale), *self.threaded, *arguments]
        done = subprocess.run(command, env=environment or self.clean, capture_output=True, text=True, timeout=300, cwd=self.folder)
        found = dict(re.findall(r"^(\w+) (\d+\.\d+)$", done.stdout, re.M))
        if set(found) != set(CALLS):
            said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1][:160]
            raise LeftOut(f"{before[0] if before else 'the program'} ended with {done.returncode}: {said}")
        return {name: float(ns) for name, ns in found.items()}

    # One method a kind; the name is what --kinds and the table say.
    def plain(self):
        return self.run()

    def wrapped(self):
        return self.run(arguments=["wrapped"])

    def clocked(self):
        return self.run(arguments=["clocked"])

    def agent(self):
        return self.run(environment=self.ours())

    def nsys(self, *more):
        return self.run([find_nsys(), "profile", "-t", "osrt", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true", *more,
                         "-o", os.path.join(self.folder, "nsys")])

    def nsys_every(self):
        return self.nsys("--osrt-threshold=1")

    def lttng_idle(self):
        if not any(os.path.exists(f"{folder}/{WRAPPER}") for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")):
            raise LeftOut(f"no {WRAPPER} (tools/setup --for peers installs liblttng-ust1)")
        return self.run(environment=dict(self.clean, LD_PRELOAD=WRAPPER))

    def lttng_active(self):
        lttng = need("lttng", "lttng-tools")
        self.start_lttng()
        session, out = f"stallscope-peers-{os.getpid()}", os.path.join(self.folder, "lttng")

        def say(*words):
            done = subprocess.run([lttng, "--no-sessiond", *words], capture_output=True, text=True)
            if done.returncode != 0:
                raise LeftOut(f"lttng {words[0]}: {(done.stderr + done.stdout).strip().splitlines()[-1][:160]}")
        say("create", session, "--output", out)
        try:
            say("enable-event", "-u", "lttng_ust_pthread:*", "-s", session)
            say("start", session)
            return self.run(environment=dict(self.clean, LD_PRELOAD=WRAPPER), scale=SLOW_SCALE * 10)
        finally:
            subprocess.run([lttng, "--no-sessiond", "destroy", session], capture_output=True)
            shutil.rmtree(out, ignore_errors=True)

    def start_lttng(self):
        if self.lttng_started:
            return
        pid_file = os.path.join(self.folder, "lttng.pid")
        done = subprocess.run([need("lttng-sessiond", "lttng-tools"), "--no-kernel", "--daemonize", f"--pidfile={pid_file}"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise LeftOut(f"lttng-sessiond does not start: {(done.stderr + done.stdout).strip()[:160]}")
        self.lttng_started = int(open(pid_file).read())

    def strace(self):
        return self.run([need("strace", "strace"), "-c", "-f", "-o", "/dev/null"], scale=SLOW_SCALE)

    def perf_trace(self):
        perf = need("perf", "linux-perf")
        return self.run([perf, "trace", "-s", "-o", os.path.join(self.folder, "perf.txt")], scale=SLOW_SCALE)

    def bpftrace(self):
        program = ("tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @begin[tid] = nsecs; } "
                   "tracepoint:raw_syscalls:sys_exit /pid == cpid && @begin[tid]/ { @ns = hist(nsecs - @begin[tid]); }")
        arguments = " ".join([str(self.program), str(self.scale), *self.threaded])
        done = subprocess.run([need("bpftrace", "bpftrace"), "-e", program, "-c", arguments], env=self.clean, capture_output=True,
                              text=True, timeout=300)
        found = dict(re.findall(r"^(\w+) (\d+\.\d+)$", done.stdout, re.M))
        if set(found) != set(CALLS) or "@ns" not in done.stdout:
            raise LeftOut(f"bpftrace traces nothing here: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:160]}")
        return {name: float(ns) for name, ns in found.items()}

    def close(self):
        if self.lttng_started:
            os.kill(self.lttng_started, signal.SIGTERM)
            for _ in range(200):
                if not os.path.exists(f"/proc/{self.lttng_started}") or "State:\tZ" in open(f"/proc/{self.lttng_started}/status").read():
                    break
                time.sleep(0.05)


KINDS = {"plain": ("plain", "plain"), "wrapped": ("a function in front", "wrapped"), "clocked": ("two clock readings", "clocked"),
         "ours": ("ours", "agent"), "nsys": ("nsys -t osrt", "nsys"), "nsys-1": ("nsys, threshold 1 ns", "nsys_every"),
         "lttng-idle": ("LTTng wrapper, idle", "lttng_idle"), "lttng": ("LTTng wrapper, session", "lttng_active"), "bpftrace": ("bpftrace", "bpftrace"),
         "strace": ("strace -c -f", "strace"), "perf": ("perf trace -s", "perf_trace")}


def measure(bench, kinds, turns):
    """({kind: {call: fastest ns}}, {kind: why it was left out})"""
    fastest, left_out = {}, {}
    for turn in range(turns):
        for kind in kinds if turn % 2 == 0 else reversed(kinds):
            if kind in left_out:
                continue
            try:
                for name, ns in getattr(bench, KINDS[kind][1])().items():
                    best = fastest.setdefault(kind, {})
                    best[name] = min(best.get(name, ns), ns)
            except (LeftOut, subprocess.TimeoutExpired, OSError) as reason:
                left_out[kind] = str(reason)
                fastest.pop(kind, None)
    return fastest, left_out


def flood(build, seconds, folder):
    """[(threads, events a second each, made, received, lost)] of `stallscope run` around a program that makes 2 M events/s."""
    stallscope, program = build / "bin/stallscope", build / "bin/event_flood"
    if not (stallscope.exists() and program.exists()):
        raise LeftOut("no stallscope or event_flood in this build")
    rows = []
    for threads, rate in ((8, 250_000), (4, 500_000), (2, 1_000_000), (1, 2_000_000)):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STALLSCOPE_") and name != "LD_PRELOAD"}
        environment.update(STALLSCOPE_WAIT_THRESHOLD_NS="0")
        done = subprocess.run([stallscope, "run", "--", program, str(threads), str(rate), str(seconds)], env=environment,
                              capture_output=True, text=True, cwd=folder)
        made = re.search(r"waits (\d+) seconds ([\d.]+)", done.stdout + done.stderr)
        health = re.search(r"health:? +([\d,]+) events, ([\d,]+) lost", done.stdout + done.stderr)
        if not made or not health:
            raise LeftOut(f"stallscope run ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        received, lost = (int(text.replace(",", "")) for text in health.groups())
        rows.append((threads, rate, int(made[1]), float(made[2]), received, lost))
    return rows


def warm_stack_ns(build):
    """Of a stack of 30 frames that is known already (agent/stacks/stack_bench.cc): the fastest repetition."""
    program = build / "bin/agent_stack_bench"
    if not program.exists():
        raise LeftOut("no agent_stack_bench in this build")
    done = subprocess.run([program, "--benchmark_filter=^WarmStack$", "--benchmark_repetitions=20", "--benchmark_min_time=0.05",
                           "--benchmark_format=json"], capture_output=True, text=True)
    runs = [run for run in json.loads(done.stdout or "{}").get("benchmarks", []) if run.get("run_type") == "iteration"]
    if not runs or any(run.get("error_occurred") for run in runs):
        raise LeftOut(f"no warm stack: {runs[0].get('error_message', '') if runs else done.stderr.strip()[:160]}")
    return min(run["cpu_time"] for run in runs)


def print_table(fastest):
    kinds = [kind for kind in KINDS if kind in fastest and kind != "plain"]
    print("| call | plain ns | " + " | ".join(KINDS[kind][0] for kind in kinds) + " |")
    print("|---" * (len(kinds) + 2) + "|")
    for call, words in CALLS.items():
        plain = fastest["plain"][call]
        cells = []
        for kind in kinds:
            more = fastest[kind][call] - plain
            cells.append(f"{more:+.1f}" if abs(more) < 1000 else f"{more:+,.0f} ({fastest[kind][call] / plain:.0f}x)")
        print(f"| {words} | {plain:.1f} | " + " | ".join(cells) + " |")


def missed_goals(fastest, floods, stack_ns):
    def more(kind, call):
        return fastest[kind][call] - fastest["plain"][call]
    if more("ours", "mutex_pair") > 3:
        yield f"an uncontended mutex pair costs {more('ours', 'mutex_pair'):+.1f} ns (goal: at most +3)"
    if "nsys" in fastest and more("ours", "mutex_pair") > more("nsys", "mutex_pair"):
        yield f"an uncontended mutex pair costs more than under nsys ({more('nsys', 'mutex_pair'):+.1f} ns)"
    for call in RECORDED:
        if more("ours", call) > 25:
            bare = f"; a function in front that does nothing costs {more('wrapped', call):+.1f}" if "wrapped" in fastest else ""
            yield f"{call}: a recorded wait costs {more('ours', call):+.1f} ns (goal: at most +25){bare}"
    if stack_ns and stack_ns + more("ours", "cond_timedwait") > 250:
        yield f"a recorded wait with a warm stack costs {stack_ns + more('ours', 'cond_timedwait'):+.0f} ns (goal: at most +250)"
    for threads, rate, _, _, received, lost in floods:
        if lost:
            yield f"{lost} of {received + lost} events were lost with {threads} threads of {rate} a second"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--flood-seconds", type=float, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    kinds = ["plain"] + [kind for kind in options.kinds.split(",") if kind != "plain"]
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    floods, load, tables, left_out, stack_ns = [], os.getloadavg()[0], {}, {}, None
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.build.resolve(), folder, options.scale)
        try:
            for name, bench.threaded in (("one thread", []), ("two threads", ["threaded"])):
                tables[name], found = measure(bench, [kind for kind in kinds if kind not in left_out], options.turns)
                left_out.update(found)
            try:
                stack_ns = warm_stack_ns(options.build.resolve())
            except LeftOut as reason:
                left_out["warm stack"] = str(reason)
            if options.flood_seconds > 0:
                try:
                    floods = flood(options.build.resolve(), options.flood_seconds, folder)
                except LeftOut as reason:
                    left_out["2 M events/s"] = str(reason)
        finally:
            bench.close()
    if "plain" in left_out:
        sys.exit(f"peers: the program itself cannot be run: {left_out['plain']}")
    missed = list(missed_goals(tables["one thread"], floods, stack_ns)) if "ours" not in left_out and "ours" in kinds else []
    if options.json:
        print(json.dumps({"fastest_ns": tables, "warm_stack_ns": stack_ns, "left_out": left_out, "missed": missed, "flood": [
            dict(zip(("threads", "rate", "made", "seconds", "received", "lost"), row)) for row in floods]}))
    else:
        print(f"Fastest of {options.turns} turns; beside plain: how many ns more a call. Load of this machine before: "
              f"{load:.1f}, now {os.getloadavg()[0]:.1f}.\n")
        for name, fastest in tables.items():
            print(f"A program of {name}:\n")
            print_table(fastest)
            print()
        if stack_ns:
            print(f"A warm stack of 30 frames: {stack_ns:.0f} ns of processor time.")
        if floods:
            print("\n| threads | events/s each | made/s | received | lost |\n|---|---|---|---|---|")
            for threads, rate, made, seconds, received, lost in floods:
                print(f"| {threads} | {rate:,} | {made / seconds:,.0f} | {received:,} | {lost:,} |")
        print()
        for kind, reason in left_out.items():
            print(f"left out: {KINDS.get(kind, (kind,))[0]}: {reason}")
        print(f"{len(left_out)} left out")
        for goal in missed:
            print(f"missed: {goal}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
