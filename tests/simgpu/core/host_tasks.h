// Work that a host thread does at a simulated moment: host functions of streams, and the bytes that move behind them.
// This is the only thing in the simulation that needs a thread; it starts with the first task.
//
// Tasks run one at a time in the order of their simulated begin, so what a stream (or an event) orders behind a host
// function runs behind it. Any thread. On a clock that a test moves, tasks run at once, on the calling thread.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_HOST_TASKS_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_HOST_TASKS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simgpu/core/clock.h"

namespace simgpu {

struct HostTask {
  std::atomic<bool> done{false};
  std::atomic<uint64_t> finished_ns{0};
};
using HostTaskList = std::vector<std::shared_ptr<HostTask>>;

class HostTasks {
 public:
  explicit HostTasks(Clock& clock) : clock_(clock) {}
  HostTasks(const HostTasks&) = delete;
  HostTasks& operator=(const HostTasks&) = delete;

  std::shared_ptr<HostTask> Add(uint64_t begin_ns, std::function<void()> body);
  bool any_pending() const { return pending_.load(std::memory_order_acquire) != 0; }
  void Wait(const HostTaskList& tasks);
  void WaitForAll();

 private:
  struct Entry {
    std::shared_ptr<HostTask> task;
    std::function<void()> body;
  };
  void Run();
  void Finish(const Entry& entry);

  Clock& clock_;
  std::atomic<uint32_t> pending_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable added_, finished_;
  bool started_ = false;
  uint64_t next_number_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, Entry> waiting_;  // by begin, then by order of arrival
};

// Drops finished tasks; the latest moment at which one of those finished, 0 when none did.
uint64_t DropFinished(HostTaskList* tasks);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_HOST_TASKS_H_
