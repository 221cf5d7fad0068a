"""A program that patches its own call slots, before or during an attach, and takes its function out before or after the detach: its
function is called while it is there, and nobody's after that.
"""
from subjects import TARGETS, attach, detach, finish, started

# p: the program's function goes in, u: it goes out, a: attach, d: detach. Calls are made after each step.
for order in ("paud", "padu", "apud", "apdu", "adpu"):
    process = started(TARGETS, "patches")

    def say(word):
        process.stdin.write(word.encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline().decode().split()
        assert line[:1] == ["ready"], (order, word, process.poll())
        return int(line[1])

    patched, before = False, say("c")
    assert before == 0
    for step in order:
        if step == "a":
            attach(process.pid)
        elif step == "d":
            detach(process.pid)
        else:
            patched = step == "p"
            say(step)
        for _ in range(3):
            count = say("c")
            assert count == before + patched, (order, step, before, count)
            before = count
    exit_code, rest = finish(process)
    assert exit_code == 0, (order, exit_code, rest)
    print(order, "ok:", before, "calls of its own function")
