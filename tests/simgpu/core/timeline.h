// When operations run: start and end are computed as they are enqueued, so no thread plays the GPU.
//
//   start = max(now + launch latency, end of the stream's last operation + gap, events waited for,
//               legacy default stream rule, the copy engine's last end);   end = start + duration
//
// All times are simulated CLOCK_MONOTONIC nanoseconds. Any thread may enqueue; one mutex a device. A stream that holds
// `queue_depth` unfinished operations blocks the caller until the oldest ends, as the real driver does.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_TIMELINE_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_TIMELINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/simgpu/core/clock.h"
#include "tests/simgpu/core/config.h"
#include "tests/simgpu/core/given_timing.h"
#include "tests/simgpu/core/host_tasks.h"
#include "tests/simgpu/core/work.h"

namespace simgpu {

class Capture;
class Device;
struct GraphExec;

struct Span {
  uint64_t begin_ns = 0, end_ns = 0;
};

enum class StreamKind : uint8_t {
  kLegacy,       // the default stream: in order with every blocking stream
  kBlocking,     // cudaStreamCreate, the per-thread default stream
  kNonBlocking,  // cudaStreamNonBlocking
};

// A stream belongs to one device. `mutex` of the device guards what changes, except `capture` (see capture.h).
class Stream {
 public:
  Stream(Device* device, uint32_t id, StreamKind kind, int priority, uint32_t queue_depth)
      : device_(device), id_(id), kind_(kind), priority_(priority), end_ns_ring_(queue_depth, 0) {}

  Device* device() const { return device_; }
  uint32_t id() const { return id_; }
  StreamKind kind() const { return kind_; }
  int priority() const { return priority_; }

  std::atomic<Capture*> capture{nullptr};
  std::vector<int> capture_tail;  // nodes that the next captured node depends on; guarded by the capture's mutex
  std::atomic<bool> has_host_tasks{false};
  HostTaskList host_tasks;  // what the stream still waits for on the host; guarded by the simulator's mutex of these

 private:
  friend class Device;
  Device* const device_;
  const uint32_t id_;
  const StreamKind kind_;
  const int priority_;
  uint64_t tail_ns_ = 0;               // end of the last operation
  uint64_t enqueued_ = 0;              // operations so far
  std::vector<uint64_t> end_ns_ring_;  // ends of the last `queue_depth` operations
};

// A stream as it is told to a tracer.
struct StreamInfo {
  uint32_t id;
  StreamKind kind;
  int priority;
};

// Called with the time that a launch stood blocked on a full queue; null: nobody asks.
using BackPressureHook = void (*)(uint64_t begin_ns, uint64_t end_ns);

class Device {
 public:
  Device(int ordinal, const Config& config, Clock& clock);

  int ordinal() const { return ordinal_; }
  // CUPTI's number of the device's one context.
  uint32_t context_id() const { return static_cast<uint32_t>(ordinal_) + 1; }
  const Config& config() const { return config_; }
  Clock& clock() const { return clock_; }

  Stream* legacy_stream() { return &legacy_; }
  Stream* CreateStream(StreamKind kind, int priority);
  // Work enqueued on it still counts for device-wide waits.
  void DestroyStream(Stream* stream);
  std::vector<StreamInfo> Streams();  // that exist, without the default stream

  // Puts one operation on the stream and returns when it runs. Does not move bytes.
  Span Enqueue(Stream* stream, const Work& work, BackPressureHook back_pressure = nullptr);
  // Puts a whole graph on the stream; `node_spans` gets one span a node.
  Span EnqueueGraph(Stream* stream, const GraphExec& exec, std::vector<Span>* node_spans,
                    BackPressureHook back_pressure = nullptr);
  // The moment at which everything put on the stream so far is done, seen as an operation of its own (an event).
  uint64_t RecordMark(Stream* stream);
  // Later operations of the stream start at `mark_ns` or later.
  void WaitForMark(Stream* stream, uint64_t mark_ns);

  uint64_t StreamEndNs(Stream* stream);  // what cudaStreamSynchronize waits for
  uint64_t DeviceEndNs();                // what cudaDeviceSynchronize waits for

 private:
  // When the stream is ready for an operation of this launch latency; a given begin is followed as early as possible.
  uint64_t ReadyNs(const Stream& stream, uint64_t latency_ns, uint64_t now_ns, const GivenTiming& given) const;
  // Behind the copy engine's last copy, unless the begin was given.
  uint64_t Engage(Engine engine, uint64_t begin_ns, uint64_t duration_ns, const GivenTiming& given);
  void Occupy(Stream* stream, uint64_t end_ns);
  // Returns with `lock` held, room in the queue, and the present time.
  uint64_t WaitForRoom(Stream* stream, std::unique_lock<std::mutex>* lock, BackPressureHook back_pressure);

  const int ordinal_;
  const Config& config_;
  Clock& clock_;
  std::atomic<uint32_t> next_stream_id_;
  std::mutex mutex_;  // guards what follows, and the streams
  Stream legacy_;
  std::vector<std::unique_ptr<Stream>> streams_;
  uint64_t blocking_tail_ns_ = 0;  // over the blocking streams
  uint64_t device_tail_ns_ = 0;    // over all streams
  uint64_t engine_tail_ns_[kEngineCount] = {};
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_TIMELINE_H_
