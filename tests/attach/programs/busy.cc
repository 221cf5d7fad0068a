// A busy program with many threads and a result that can be checked, to be attached to and detached from.
//
// usage: busy SECONDS     prints "result ok, eintr 0, early 0, rounds N" when every value that passed between its threads
//                         arrived once and in order, no call failed with EINTR and none came back before its time.
// Threads hand numbers on through every kind of channel: mutex and condition variable, semaphore, pipe, socket with
// epoll, poll, eventfd; others allocate, sleep, and start short threads.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_stop{false};
std::atomic<long> g_eintr{0}, g_early{0}, g_wrong{0}, g_rounds{0};

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A failed call: EINTR is what must never be seen.
bool Failed(long result) {
  if (result >= 0) return false;
  if (errno == EINTR) ++g_eintr;
  return true;
}

void SleepFor(int64_t ns) {
  const timespec pause = {0, static_cast<long>(ns)};
  const int64_t begin = NowNs();
  if (Failed(nanosleep(&pause, nullptr)) || NowNs() - begin < ns) ++g_early;
}

// Numbers 1, 2, 3 ... through a channel; the receiver checks the order. 0 ends it.
template <typename Send, typename Receive>
void HandOn(Send send, Receive receive) {
  std::thread sender([send] {
    uint64_t next = 1;
    while (!g_stop) {
      send(next++);
      if (next % 64 == 0) SleepFor(200'000);
    }
    send(0);
  });
  uint64_t expected = 1;
  for (uint64_t got = receive(); got != 0; got = receive()) {
    if (got != expected++) ++g_wrong;
    ++g_rounds;
  }
  sender.join();
}

void ByCondition() {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<uint64_t> queue;
  HandOn(
      [&](uint64_t value) {
        const std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(value);
        changed.notify_one();
      },
      [&] {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return !queue.empty(); });
        const uint64_t value = queue.front();
        queue.pop_front();
        return value;
      });
}

void BySemaphore() {
  sem_t filled, empty;
  sem_init(&filled, 0, 0);
  sem_init(&empty, 0, 1);
  std::atomic<uint64_t> place{0};
  HandOn(
      [&](uint64_t value) {
        if (Failed(sem_wait(&empty))) ++g_wrong;
        place = value;
        sem_post(&filled);
      },
      [&] {
        if (Failed(sem_wait(&filled))) ++g_wrong;
        const uint64_t value = place;
        sem_post(&empty);
        return value;
      });
}

void ByPipe(bool with_poll) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  HandOn([&](uint64_t value) { Failed(write(ends[1], &value, sizeof(value))); },
         [&] {
           uint64_t value = 0;
           pollfd ready = {ends[0], POLLIN, 0};
           if (with_poll && !Failed(poll(&ready, 1, -1)) && ready.revents == 0) ++g_early;
           if (read(ends[0], &value, sizeof(value)) != sizeof(value)) Failed(-1), ++g_wrong;
           return value;
         });
}

void BySocket() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  const int set = epoll_create1(0);
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &wanted);
  HandOn([&](uint64_t value) { Failed(send(ends[1], &value, sizeof(value), 0)); },
         [&] {
           uint64_t value = 0;
           epoll_event event;
           const int ready = epoll_wait(set, &event, 1, -1);
           if (!Failed(ready) && ready == 0) ++g_early;
           if (recv(ends[0], &value, sizeof(value), 0) != sizeof(value)) Failed(-1), ++g_wrong;
           return value;
         });
}

void Allocate() {
  std::vector<std::string> kept(64);
  for (unsigned i = 0; !g_stop; ++i) {
    kept[i % 64] = std::string(i * 37 % 5000, static_cast<char>('a' + i % 26));
    if (i % 4096 == 0) SleepFor(300'000);
    if (!kept[i % 64].empty() && kept[i % 64].back() != static_cast<char>('a' + i % 26)) ++g_wrong;
  }
}

void Wait(long turn_us) {
  std::mutex mutex;
  std::condition_variable never;
  while (!g_stop) {
    std::unique_lock<std::mutex> lock(mutex);
    const int64_t begin = NowNs();
    // Spurious wake-ups are allowed to a condition variable; glibc has none of its own.
    if (never.wait_for(lock, std::chrono::microseconds(turn_us)) != std::cv_status::timeout ||
        NowNs() - begin < turn_us * 1000) {
      ++g_early;
    }
    timeval pause = {0, turn_us};
    const int64_t select_begin = NowNs();
    if (Failed(select(0, nullptr, nullptr, nullptr, &pause)) || NowNs() - select_begin < turn_us * 1000) ++g_early;
  }
}

void StartShortThreads() {
  while (!g_stop) {
    uint64_t sum = 0;
    std::thread short_one([&sum] {
      for (uint64_t i = 1; i <= 1000; ++i) sum += i;
    });
    short_one.join();
    if (sum != 500500) ++g_wrong;
    SleepFor(2'000'000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 5;
  std::vector<std::thread> threads;
  threads.emplace_back(ByCondition);
  threads.emplace_back(BySemaphore);
  threads.emplace_back(ByPipe, false);
  threads.emplace_back(ByPipe, true);
  threads.emplace_back(BySocket);
  threads.emplace_back(Allocate);
  threads.emplace_back(Allocate);
  threads.emplace_back(Wait, 700);
  threads.emplace_back(Wait, 30'000);
  threads.emplace_back(StartShortThreads);
  puts("running");
  fflush(stdout);
  const int64_t end_ns = NowNs() + static_cast<int64_t>(seconds * 1e9);
  // Ends early when standard input does.
  while (NowNs() < end_ns) {
    pollfd input = {0, POLLIN, 0};
    if (!Failed(poll(&input, 1, 50)) && input.revents != 0) break;
  }
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  printf("result %s, eintr %ld, early %ld, rounds %ld\n", g_wrong == 0 ? "ok" : "WRONG", g_eintr.load(), g_early.load(),
         g_rounds.load());
  return g_wrong == 0 && g_eintr == 0 && g_early == 0 ? 0 : 1;
}
