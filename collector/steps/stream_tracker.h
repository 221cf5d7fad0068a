// What work a blocking call waits for, told from host calls alone: work enqueued by stream, events that stand for a
// moment of a stream, read-backs (device-to-host copies) that nobody has waited for yet.
//
// With asynchronous scheduling step N+1 is launched before step N is waited for, possibly by another thread and on the
// same streams: what counts is what the event or stream held when it was recorded or waited for, not what was launched
// before the call returned.
//
// Fed with CUDA calls in the order in which they ended. Single thread. Memory: streams, events and read-backs are
// capped; the oldest go.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/steps/sync_context.h"
#include "collector/timeline/call.h"

namespace stallscope {

// Work of one stream up to some moment, counted since the start.
struct WorkCount {
  uint64_t kernels = 0, graphs = 0;
};

// By stream number: everything that has happened before some moment, over all streams (a vector clock).
class WorkClock {
 public:
  const WorkCount& operator[](size_t stream) const { return stream < counts_.size() ? counts_[stream] : kNone; }
  WorkCount& At(size_t stream) {
    if (stream >= counts_.size()) counts_.resize(stream + 1);
    return counts_[stream];
  }
  void Join(const WorkClock& other);
  // How much of this had not happened yet at `earlier`.
  WorkCount Since(const WorkClock& earlier) const;

 private:
  static constexpr WorkCount kNone{};
  std::vector<WorkCount> counts_;
};

struct ReadBack {
  uint64_t number = 0;  // running, from 1
  uint64_t bytes = 0;
  uint32_t correlation = 0;
  uint32_t stream = 0;  // stream number of the tracker
  HostNs enqueued = 0;
};

// A call has returned after which copies are visible to the host that were not before.
struct Delivery {
  HostNs at = 0, wait_begin = 0;
  ThreadIndex thread = 0;
  wire::CudaCallClass call_class = wire::CudaCallClass::kOther;
  bool query = false;
  std::vector<ReadBack> copies;  // at least one, in the order in which they were enqueued
  WorkClock closure;             // everything that the call's return implies
};

class StreamTracker {
 public:
  // True when `call` delivered something. What a blocking call waits for is written to `context`; nullptr: nobody asks.
  bool OnCall(ThreadIndex thread, const Call& call, SyncContext* context, Delivery* delivery);

 private:
  static constexpr size_t kMaxFrontier = SyncContext::kMaxAwaited;
  struct Frontier {
    std::array<uint32_t, kMaxFrontier> correlations{};
    uint8_t count = 0;
    bool no_records = false;
    void Set(uint32_t correlation, bool without_records);
    void Join(const Frontier& other);
  };
  struct Stream {
    WorkClock clock;               // what has been enqueued or must have happened before its end
    Frontier frontier;             // its last work
    std::vector<ReadBack> unread;  // in order
    HostNs last_enqueue = INT64_MIN;
    std::deque<std::pair<HostNs, WorkCount>> history;  // own work by time, for waits that began before later launches
  };
  struct Snapshot {
    WorkClock clock;
    Frontier frontier;
    std::vector<ReadBack> unread;
    HostNs recorded = INT64_MIN;
  };
  // A wait that began before the last record waits for the record before.
  struct Event {
    Snapshot last, before;
    const Snapshot* At(HostNs wait_begin) const;
  };

  uint32_t StreamNumber(uint64_t handle, ThreadIndex thread);
  // False when the call is the runtime's side of a driver call that was already taken.
  bool Enqueue(const Call& call, uint32_t number);
  // The stream's clock as it was when a wait began at `at`.
  WorkClock ClockAt(uint32_t number, HostNs at) const;
  bool WasRead(const ReadBack& copy) const;
  void Collect(const std::vector<ReadBack>& unread, HostNs enqueued_until, std::vector<ReadBack>* copies) const;
  bool Deliver(Delivery* delivery, SyncContext* context);
  bool WaitForEvent(const Call& call, SyncContext* context, Delivery* delivery);
  void WaitForStream(const Call& call, uint32_t number, SyncContext* context, Delivery* delivery) const;
  void WaitForDevice(const Call& call, SyncContext* context, Delivery* delivery) const;
  void ForgetEverything();

  absl::flat_hash_map<uint64_t, uint32_t> number_of_stream_;
  std::deque<Stream> streams_;
  absl::flat_hash_map<uint64_t, Event> events_;
  std::deque<bool> read_;  // by read-back number from first_number_: delivered
  uint64_t first_number_ = 1;
};

}  // namespace stallscope
