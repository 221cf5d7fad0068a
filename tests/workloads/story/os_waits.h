// The waits of a server's other threads: pools that park, pollers that time out, readers of pipes. They do nothing else,
// and add up to the published OS-runtime table.
//
// Each wait really blocks, for a time from the plan; what one overslept, the next give up (ledger.h). A wait that found
// its time already passed returns at once, is not counted and is made again.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_OS_WAITS_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_OS_WAITS_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/workloads/story/published.h"

namespace workloads {

// Below this a call that did not block is over; above it, a tracer has seen it.
inline constexpr uint64_t kSeenNs = 1'250;

class OsWaits {
 public:
  // Starts the threads. `epoll_waits_elsewhere` and `epoll_ns_elsewhere`: about how many the API thread will make, and
  // how long they will take.
  OsWaits(double scale, uint64_t epoll_waits_elsewhere, uint64_t epoll_ns_elsewhere);
  // Waits for them, and makes what is missing of epoll_wait, given what the API thread really did.
  void Finish(uint64_t epoll_waits_made, uint64_t epoll_ns_taken);
  // For tests: waits made so far in the row.
  uint64_t made(OsRow row) const { return made_[static_cast<int>(row)].load(); }

 private:
  void Start(OsRow row, std::vector<uint64_t> planned_ns);
  void Run(OsRow row, const std::vector<uint64_t>& planned_ns);

  const double scale_;
  std::atomic<uint64_t> made_[static_cast<int>(OsRow::kCount)] = {};
  std::atomic<uint64_t> taken_ns_[static_cast<int>(OsRow::kCount)] = {};
  std::vector<std::thread> threads_;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_OS_WAITS_H_
