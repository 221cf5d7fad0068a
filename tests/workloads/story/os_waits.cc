#include "tests/workloads/story/os_waits.h"

#include <pthread.h>

#include <algorithm>
#include <string>

#include "tests/workloads/story/ledger.h"
#include "tests/workloads/story/one_wait.h"
#include "tests/workloads/story/spread.h"

namespace workloads {
namespace {

// A wait shorter than this may find its time passed before it begins.
constexpr uint64_t kShortestWaitNs = 60'000;
// No thread's waits fill the run to the last: threads start late and oversleep.
constexpr double kFullShare = 0.993;

// Deals the durations out to so many threads that none has more than `limit_ns`, the longest first.
std::vector<std::vector<uint64_t>> Deal(std::vector<uint64_t> durations_ns, uint64_t limit_ns) {
  uint64_t total_ns = 0;
  for (const uint64_t ns : durations_ns) total_ns += ns;
  std::sort(durations_ns.begin(), durations_ns.end(), std::greater<>());
  for (size_t threads = static_cast<size_t>(total_ns / limit_ns) + 1;; ++threads) {
    std::vector<std::vector<uint64_t>> dealt(threads);
    std::vector<uint64_t> load_ns(threads, 0);
    for (const uint64_t ns : durations_ns) {
      const auto least = std::min_element(load_ns.begin(), load_ns.end());
      dealt[static_cast<size_t>(least - load_ns.begin())].push_back(ns);
      *least += ns;
    }
    const bool fits = *std::max_element(load_ns.begin(), load_ns.end()) <= limit_ns;
    if (fits || threads >= durations_ns.size()) return dealt;
  }
}

void NameThread(std::thread* thread, OsRow row) {
  constexpr const char* kNames[] = {"uvloop",   "zmq-timer",  "pool-park", "grpc-timer",
                                    "zmq-poll", "worker-sem", "reaper",    "log-pipe"};
  pthread_setname_np(thread->native_handle(), kNames[static_cast<int>(row)]);
}

}  // namespace

OsWaits::OsWaits(double scale, uint64_t epoll_waits_elsewhere, uint64_t epoll_ns_elsewhere) : scale_(scale) {
  const auto wall_ns = static_cast<uint64_t>(static_cast<double>(kWallNs) * scale);
  const auto limit_ns = static_cast<uint64_t>(static_cast<double>(wall_ns) * kFullShare);
  for (int i = 0; i < static_cast<int>(OsRow::kCount); ++i) {
    const PublishedRow& row = kOsRows[i];
    uint64_t count = Scaled(row.count, scale);
    auto total_ns = static_cast<uint64_t>(static_cast<double>(row.total_ns) * scale);
    if (static_cast<OsRow>(i) == OsRow::kEpollWait) {
      count -= std::min(count - 1, epoll_waits_elsewhere);
      total_ns -= std::min(total_ns, epoll_ns_elsewhere);
    }
    const uint64_t max_ns = std::min(row.max_ns, limit_ns);
    total_ns = std::min(total_ns, count * max_ns);
    std::vector<uint64_t> durations = SortedSpread(count, {total_ns, row.median_ns, row.min_ns, max_ns});
    for (std::vector<uint64_t>& planned : Deal(std::move(durations), limit_ns)) {
      Shuffle(&planned, 80 + threads_.size());
      Start(static_cast<OsRow>(i), std::move(planned));
    }
  }
}

void OsWaits::Start(OsRow row, std::vector<uint64_t> planned_ns) {
  threads_.emplace_back([this, row, planned = std::move(planned_ns)] { Run(row, planned); });
  NameThread(&threads_.back(), row);
}

void OsWaits::Run(OsRow row, const std::vector<uint64_t>& planned_ns) {
  OneWait wait(row);
  Ledger ledger(planned_ns, kShortestWaitNs);
  while (!ledger.done()) {
    const uint64_t took_ns = wait.Block(ledger.Wanted());
    if (took_ns < kSeenNs) continue;  // did not block
    ledger.Took(took_ns);
    made_[static_cast<int>(row)] += 1;
    taken_ns_[static_cast<int>(row)] += took_ns;
  }
}

void OsWaits::Finish(uint64_t epoll_waits_made, uint64_t epoll_ns_taken) {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  constexpr int kEpoll = static_cast<int>(OsRow::kEpollWait);
  const uint64_t made = made_[kEpoll] + epoll_waits_made, wanted = Scaled(kOsRows[kEpoll].count, scale_);
  if (made >= wanted) return;
  const auto wanted_ns = static_cast<uint64_t>(static_cast<double>(kOsRows[kEpoll].total_ns) * scale_);
  const uint64_t taken_ns = taken_ns_[kEpoll] + epoll_ns_taken;
  const uint64_t missing = wanted - made;
  const uint64_t each_ns = taken_ns < wanted_ns ? std::min<uint64_t>((wanted_ns - taken_ns) / missing, 2'000'000) : 0;
  Start(OsRow::kEpollWait, std::vector<uint64_t>(missing, std::max(each_ns, kShortestWaitNs)));
  threads_.back().join();
  threads_.clear();
}

}  // namespace workloads
