#!/usr/bin/env python3
"""Programs of other runtimes, with threads, locks, sockets and children: Go (static, and with cgo), Rust, Java, JavaScript. What is not
installed is left out by name.

usage: other_languages_test.py LIBRARY
"""
import os
import shutil
import subprocess
import sys
import tempfile

GO = """package main

%s
import (
	"fmt"
	"net"
	"os/exec"
	"sync"
	"time"
)

func main() {
	var group sync.WaitGroup
	var mutex sync.Mutex
	total := 0
	for i := 0; i < 16; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 200; j++ {
				mutex.Lock()
				total++
				mutex.Unlock()
				time.Sleep(10 * time.Microsecond)
			}
		}()
	}
	group.Wait()
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() {
		connection, _ := listener.Accept()
		connection.Write([]byte("over loopback"))
		connection.Close()
	}()
	connection, _ := net.Dial("tcp", listener.Addr().String())
	text := make([]byte, 64)
	count, _ := connection.Read(text)
	out, _ := exec.Command("echo", "child").Output()
	fmt.Println(total, string(text[:count]), string(out), %s)
}
"""
CGO = """// #include <unistd.h>
// #include <pthread.h>
// static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// static int in_c(void) { pthread_mutex_lock(&mutex); usleep(2000); pthread_mutex_unlock(&mutex); return 7; }
import "C"
"""
RUST = """
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex};
use std::{io::{Read, Write}, net, process, thread, time::Duration};
fn main() {
    let total = Arc::new(Mutex::new(0));
    let barrier = Arc::new(Barrier::new(8));
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..8).map(|i| {
        let (total, barrier, sender) = (total.clone(), barrier.clone(), sender.clone());
        thread::spawn(move || {
            barrier.wait();
            for _ in 0..500 { *total.lock().unwrap() += 1; }
            thread::sleep(Duration::from_micros(100));
            sender.send(i).unwrap();
        })
    }).collect();
    for one in threads { one.join().unwrap(); }
    let mut seen: Vec<i32> = receiver.try_iter().collect();
    seen.sort();
    let pair = (Mutex::new(false), Condvar::new());
    let late = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_millis(5)).unwrap().1.timed_out();
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"over loopback").unwrap());
    let mut text = String::new();
    net::TcpStream::connect(address).unwrap().read_to_string(&mut text).unwrap();
    server.join().unwrap();
    let child = process::Command::new("echo").arg("child").output().unwrap();
    let caught = std::panic::catch_unwind(|| { if text.len() > 3 { std::panic::resume_unwind(Box::new(1)); } }).is_err();
    println!("{} {:?} {} {} {:?} {}", total.lock().unwrap(), seen, late, text, String::from_utf8_lossy(&child.stdout), caught);
}
"""
JAVA = """
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
public class Program {
  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    AtomicLong total = new AtomicLong();
    CountDownLatch latch = new CountDownLatch(100);
    Object lock = new Object();
    for (int i = 0; i < 100; ++i) pool.submit(() -> {
      synchronized (lock) { total.incrementAndGet(); }
      try { Thread.sleep(1); } catch (InterruptedException e) {}
      latch.countDown();
    });
    latch.await();
    pool.shutdown();
    System.gc();
    Process child = new ProcessBuilder("echo", "child").start();
    System.out.println(total.get() + " " + new String(child.getInputStream().readAllBytes()).trim() + " " + child.waitFor());
  }
}
"""
NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  parentPort.postMessage(1);
} else {
  let total = 0, open = 4;
  for (let i = 0; i < 4; ++i) new Worker(__filename).on('message', n => total += n).on('exit', () => { if (--open === 0) finish(); });
  const finish = () => {
    const net = require('net'), server = net.createServer(c => c.end('over loopback')).listen(0, '127.0.0.1', () => {
      let text = '';
      net.connect(server.address().port, '127.0.0.1').on('data', d => text += d).on('end', () => {
        const child = require('child_process').execFileSync('echo', ['child']).toString().trim();
        require('fs').readFile(__filename, (error, data) => { console.log(total, text, child, data.length > 100); server.close(); });
      });
    });
  };
}
"""


def compile_all(folder):
    """(name, command, environment that it needs) of what could be built."""
    def write(name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def build(name, command, run, **more):
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=dict(os.environ, **more))
        if done.returncode == 0:
            return [(name, run)]
        print(f"{name}: left out, cannot be built: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        return []

    found, caches = [], dict(GOCACHE=os.path.join(folder, "go-cache"), GOPATH=os.path.join(folder, "go"), GOFLAGS="-mod=mod")
    if shutil.which("go"):
        write("go.mod", "module program\n\ngo 1.18\n")
        for name, preamble, value, cgo in (("go_static", "", "0", "0"), ("go_cgo", CGO, "C.in_c()", "1")):
            os.makedirs(os.path.join(folder, name))
            source = write(f"{name}/main.go", GO % (preamble, value))
            found += build(name, ["go", "build", "-p", "2", "-o", f"{folder}/{name}.bin", source], [f"{folder}/{name}.bin"],
                           CGO_ENABLED=cgo, **caches)
    else:
        print("go: left out, not installed")
    if shutil.which("rustc"):
        found += build("rust", ["rustc", "-O", write("program.rs", RUST), "-o", f"{folder}/rust.bin"], [f"{folder}/rust.bin"])
    else:
        print("rust: left out, not installed")
    if shutil.which("java") and shutil.which("javac"):
        found += build("java", ["javac", "-d", folder, write("Program.java", JAVA)],
                       [shutil.which("java"), "-Xmx128m", "-cp", folder, "Program"])
    else:
        print("java: left out, not installed")
    if shutil.which("node"):
        found.append(("node", [shutil.which("node"), write("program.js", NODE)]))
    else:
        print("node: left out, not installed")
    return found


def main():
    library, failed, tried = sys.argv[1], 0, 0
    run_pair = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_pair.py")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in compile_all(folder):
            tried += 1
            # A static Go program has no loader that would load the agent; the child that it starts has one.
            done = subprocess.run([sys.executable, run_pair, library, *command], capture_output=True, text=True)
            print(f"{name}: {'ok' if done.returncode == 0 else 'differs'}")
            if done.returncode != 0:
                failed += 1
                print(done.stdout + done.stderr)
        # Go's cache is read-only, which TemporaryDirectory cannot remove.
        subprocess.run(["chmod", "-R", "u+w", folder])
    if not tried:
        print("skipped: none of the runtimes is installed")
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
