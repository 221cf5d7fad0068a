"""attach refuses what it cannot or must not touch, in one line that says why and what to do, and leaves it as it was."""
import os
import pathlib
import subprocess

from subjects import BUILD, FOLDER, STALLSCOPE, TARGETS, ENVIRONMENT, attach, detach, finish, refused, start, started, state_of, wait_for

TOKEN_LOOP_STATIC = BUILD / "bin/token_loop_static"
NOT_TRIED = []


def check(name, *parts, state, code=4):
    """A program in that state is refused, runs on, and ends as it would have."""
    process = started(TARGETS, state)
    try:
        print(refused(process.pid, str(process.pid), *parts, code=code))
        wait_for(lambda: state_of(process.pid) in "SR", f"{name}: it runs on ({state_of(process.pid)})", 5)
    finally:
        exit_code, _ = finish(process)
    assert exit_code == 0, (name, exit_code)


# --- no process, or none that is a program's
refused(4194303, "no process 4194303", "ps", code=3)
refused("abc", code=2)
refused("-5", code=2)
refused(0, code=2)
threads = started(TARGETS, "threads")
tid = next(int(task) for task in os.listdir(f"/proc/{threads.pid}/task") if int(task) != threads.pid)
refused(tid, "thread of process", str(threads.pid), code=3)
zombie = started(TARGETS, "zombie")
print(refused(int(zombie.first_line.split()[1]), "zombie"))
finish(zombie)
kernel_thread = pathlib.Path("/proc/2/status")
if kernel_thread.exists() and "kthreadd" in kernel_thread.read_text():
    print(refused(2, "thread of the kernel"))
else:
    NOT_TRIED.append("kernel thread: none is visible here")

# --- somebody else's
traced = started(TARGETS, "traced")
print(refused(int(traced.first_line.split()[1]), f"process {traced.pid} traces it", "debugger"))
finish(traced)
if os.geteuid() == 0:
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*as_nobody, STALLSCOPE, "--version"], capture_output=True, check=False).returncode == 0:
        print(refused(threads.pid, "belongs to user 0", "you are 65534", runner=as_nobody))
    else:
        NOT_TRIED.append("another user: user 65534 cannot execute the build's programs")
else:
    print(refused(1, "belongs to user 0") if not os.access("/proc/1/maps", os.R_OK) else "")

# --- that cannot load the agent, or must not be stopped
check("not dumpable", "not dumpable", state="not-dumpable")
check("own filter", "seccomp filter on itself", state="own-filter")
check("strict seccomp", "strict seccomp", state="strict")
stopped = started(TARGETS, "plain")
os.kill(stopped.pid, 19)
while state_of(stopped.pid) != "T":
    pass
print(refused(stopped.pid, "stopped", "kill -CONT"))
os.kill(stopped.pid, 18)
assert finish(stopped)[0] == 0
if TOKEN_LOOP_STATIC.exists():
    static = start(TOKEN_LOOP_STATIC, 0)
    print(refused(static.pid, "static"))
    static.kill()
else:
    NOT_TRIED.append("static program: no static libc here")
C_SOURCE = '#include <unistd.h>\nint main(void) { char c; write(1, "ready\\n", 6); read(0, &c, 1); return 0; }\n'
# write(1, "ready\n", 6), read(0, ., 1), exit(0): no 32-bit libc is needed.
ASSEMBLY = """.globl _start
_start: movl $4, %eax; movl $1, %ebx; movl $text, %ecx; movl $6, %edx; int $0x80
movl $3, %eax; xorl %ebx, %ebx; movl $room, %ecx; movl $1, %edx; int $0x80
movl $1, %eax; xorl %ebx, %ebx; int $0x80
.data
text: .ascii "ready\\n"
room: .byte 0
"""
for compiler, source_name, text, words, what in (
        (["musl-gcc"], "small.c", C_SOURCE, "musl", "musl program"),
        (["gcc", "-m32", "-nostdlib", "-static", "-no-pie"], "small.s", ASSEMBLY, "x86-64", "32-bit program")):
    program = FOLDER / what.replace(" ", "_")
    source = FOLDER / source_name
    source.write_text(text)
    try:
        built = subprocess.run([*compiler, "-o", program, source], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        built = False
    try:
        process = started(program) if built else None
    except (AssertionError, OSError):
        process = None
    if process is None:
        NOT_TRIED.append(f"{what}: {compiler[0]} cannot build or run one here")
        continue
    print(refused(process.pid, words))
    assert finish(process)[0] == 0

# --- twice
attach(threads.pid)
print(refused(threads.pid, "recorded already", "stallscope detach"))
detach(threads.pid)
print(refused(threads.pid, "done before", "stallscope attach", command="detach"))
finish(threads)
plain = started(TARGETS, "plain")
print(refused(plain.pid, "not in it", command="detach"))
finish(plain)
preloaded = started(TARGETS, "plain", environment={"LD_PRELOAD": str(BUILD / "lib/libstallscope.so")})
print(refused(preloaded.pid, "recorded already"))
detach(preloaded.pid)
attach(preloaded.pid)
assert finish(preloaded)[0] == 0
for reason in NOT_TRIED:
    print("NOT TRIED:", reason)
