"""Two threads that compute: each waits for the interpreter lock most of the time. Prints nothing but its own end."""
import sys
import threading
import time

sys.setswitchinterval(0.0005)


def compute(until):
    value = 0
    while time.monotonic() < until:
        value = (value * 31 + 7) % 1000003


until = time.monotonic() + 0.5
threads = [threading.Thread(target=compute, args=(until,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", sys.version_info[:2])
