#include "tests/simgpu/core/host_tasks.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace simgpu {

std::shared_ptr<HostTask> HostTasks::Add(uint64_t begin_ns, std::function<void()> body) {
  auto task = std::make_shared<HostTask>();
  if (!clock_.MovesByItself()) {
    body();
    task->finished_ns.store(begin_ns, std::memory_order_relaxed);
    task->done.store(true, std::memory_order_release);
    return task;
  }
  std::lock_guard lock(mutex_);
  pending_.fetch_add(1, std::memory_order_acq_rel);
  waiting_.emplace(std::pair{begin_ns, next_number_++}, Entry{task, std::move(body)});
  if (!started_) {
    started_ = true;
    // Signals are the program's business: its own threads take them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { Run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  added_.notify_one();
  return task;
}

void HostTasks::Run() {
  pthread_setname_np(pthread_self(), "simgpu-host");
  std::unique_lock lock(mutex_);
  for (;;) {
    if (waiting_.empty()) {
      added_.wait(lock);
      continue;
    }
    const uint64_t begin_ns = waiting_.begin()->first.first, now_ns = clock_.NowNs();
    if (begin_ns > now_ns) {
      added_.wait_for(lock, std::chrono::nanoseconds(begin_ns - now_ns));
      continue;
    }
    const Entry entry = std::move(waiting_.extract(waiting_.begin()).mapped());
    lock.unlock();
    entry.body();
    lock.lock();
    Finish(entry);
  }
}

void HostTasks::Finish(const Entry& entry) {
  entry.task->finished_ns.store(clock_.NowNs(), std::memory_order_relaxed);
  entry.task->done.store(true, std::memory_order_release);
  pending_.fetch_sub(1, std::memory_order_acq_rel);
  finished_.notify_all();
}

void HostTasks::Wait(const HostTaskList& tasks) {
  const auto done = [&] {
    return std::all_of(tasks.begin(), tasks.end(), [](const auto& task) { return task->done.load(); });
  };
  if (done()) return;
  std::unique_lock lock(mutex_);
  finished_.wait(lock, done);
}

void HostTasks::WaitForAll() {
  if (!any_pending()) return;
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return pending_.load() == 0; });
}

uint64_t DropFinished(HostTaskList* tasks) {
  uint64_t latest_ns = 0;
  std::erase_if(*tasks, [&](const std::shared_ptr<HostTask>& task) {
    if (!task->done.load(std::memory_order_acquire)) return false;
    latest_ns = std::max(latest_ns, task->finished_ns.load(std::memory_order_relaxed));
    return true;
  });
  return latest_ns;
}

}  // namespace simgpu
