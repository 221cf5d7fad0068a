# Waits in functions of known names, 40 times 5 ms each, on a thread of its own beside the main one.
import threading
import time


def wait_for_tokens():
    time.sleep(0.005)


def decode_step():
    wait_for_tokens()


def run_engine():
    for _ in range(40):
        decode_step()


engine = threading.Thread(target=run_engine, name="engine")
engine.start()
engine.join()
