// Everything known of one process for as long as it may still be needed: calls by thread, wake-ups by object,
// operations by device.
//
// Threads are small consecutive numbers here (ThreadNumbers).
// Written by: ProcessAnalysis, which passes the events on. Read by: steps and budget. Single thread. Units: host
// nanoseconds. Memory: DropBefore is called as steps close; calls and operations are capped as well, and what a cap
// drops is remembered (ThreadTimeline::kept_since), so that it becomes unknown.lost instead of a guess.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "collector/base/event.h"
#include "collector/timeline/code_spans.h"
#include "collector/timeline/device_timeline.h"
#include "collector/timeline/launch_table.h"
#include "collector/timeline/thread_timeline.h"
#include "collector/timeline/wake_index.h"

namespace stallscope {

// A launch whose GPU records did not come in time. Whether the GPU was busy with it is not known.
struct MissingLaunch {
  ThreadIndex thread = 0;
  HostNs begin = 0, end = 0;  // of the call
  uint64_t stream_handle = 0;
  uint32_t correlation = 0;
  bool blocking = false;  // a blocking copy: its work lies inside the call
  uint64_t scanned = 0;   // scratch of FindUnknownLate
};

struct TimelineCounts {
  uint64_t events = 0;
  uint64_t clamped = 0;  // times that contradict each other: an end before its begin, a kernel before its own launch
  uint64_t orphans = 0;  // GPU records whose launching call never came (counted when they are dropped)
  uint64_t lost_records = 0;
  uint64_t given_up = 0;        // launches whose GPU records did not come in time
  uint64_t came_after_all = 0;  // and those of them whose records came later
  uint64_t NeverDelivered() const { return given_up - std::min(given_up, came_after_all); }
};

class Timeline {
 public:
  explicit Timeline(const ProcessNames* names) : names_(names) {}

  // Each returns the call's number in its thread.
  uint64_t AddWait(const WaitEvent& wait);
  uint64_t AddCudaCall(const CudaCallEvent& cuda);
  void AddWake(const WakeEvent& wake);
  // A wake-up that was concluded, not seen.
  void AddInferredWake(uint64_t object, HostNs at, ThreadIndex waker);
  // By a thread of another process: `waker` here (ThreadNumbers::OfForeign), `there` in process `member` of HostWakes.
  void AddForeignWake(uint64_t object, HostNs at, ThreadIndex waker, uint32_t member, ThreadIndex there);
  void AddGpuOp(const GpuOpEvent& op);
  // The agent has stopped asking for GPU records, or asks again: launches while it does not are not waited for and are no
  // loss, nor are those before this call that came after the last one of which a record came.
  void SetGpuRecordsOff(bool off);
  void AddCodeLoad(const CodeLoadEvent& load);
  // From now on, and for what it did just before that was known: what lies behind a descriptor.
  void SetDiskFile(uint64_t object, bool is_file);
  void AddSample(const ThreadSampleEvent& sample);
  void AddLoss(const LossEvent& loss);

  // nullptr when nothing is known of it.
  const ThreadTimeline* Thread(ThreadIndex thread) const;
  ThreadTimeline& MutableThread(ThreadIndex thread);
  ThreadIndex thread_end() const { return static_cast<ThreadIndex>(threads_.size()); }  // indices are below
  uint32_t TidOf(ThreadIndex thread) const;
  ThreadIndex ThreadOfTid(uint32_t tid) const;  // the latest that had it; 0: none known

  // nullptr when it never ran anything.
  DeviceTimeline* Device(uint32_t device);
  const std::vector<uint32_t>& devices() const { return device_ids_; }
  void SettleDevices();

  const WakeIndex& wakes() const { return wakes_; }
  const LaunchTable& launches() const { return launches_; }
  const CodeSpans& code_spans() const { return code_spans_; }
  // Looks again for the threads of loads that came before their calls.
  void SettleCodeLoads();
  // Launches so far, since the last question, that were the first of their kernel and took so long that they must have
  // loaded it.
  std::vector<TimeSpan> TakeLongFirstLaunches() { return std::move(long_first_launches_); }

  // Where the stream with this handle runs, as learned from launches. Thread matters for the default streams only.
  struct StreamPlace {
    uint32_t device = 0, stream = 0;
  };
  const StreamPlace* PlaceOfStream(uint64_t handle, ThreadIndex thread) const;
  // The device that the thread last launched to; the only (or first) device when it never did. False: no device is
  // known.
  bool DeviceOfThread(ThreadIndex thread, uint32_t* device) const;

  // Begin of the first launch that still waits for its GPU records; INT64_MAX when none does.
  HostNs OldestPendingLaunch();
  // Stops waiting for the records of launches that began before `at`; returns how many were given up.
  uint64_t GiveUpLaunchesBefore(HostNs at);
  // The launches given up and still kept, by begin and correlation id; a record that comes after all takes its launch
  // out.
  using MissingLaunches = std::map<std::pair<HostNs, uint32_t>, MissingLaunch>;
  MissingLaunches& missing() { return missing_; }

  // Latest end of any thread's call so far.
  HostNs latest() const { return latest_; }
  const TimelineCounts& counts() const { return counts_; }
  Line KernelLine(StringId name);

  void DropBefore(HostNs at);

 private:
  uint64_t Store(ThreadIndex thread, const Call& call);
  bool RecordsCome(const Call& call);
  ThreadIndex ThreadOf(const CodeLoadEvent& load) const;
  bool FirstOf(StringId kernel);
  void NoteFirstLaunch(const Launch& launch);
  void Match(uint32_t correlation, Launch& launch, uint32_t device);

  const ProcessNames* names_;
  std::vector<std::unique_ptr<ThreadTimeline>> threads_;  // by ThreadIndex
  struct LaunchCursor {
    uint64_t next = 0;  // calls of the thread below are done with: matched, given up or no launches
    uint64_t last_device = UINT64_MAX;
  };
  std::vector<LaunchCursor> cursors_;  // by ThreadIndex
  MissingLaunches missing_;
  std::vector<uint32_t> device_ids_;
  std::vector<std::unique_ptr<DeviceTimeline>> devices_;  // as device_ids_
  WakeIndex wakes_;
  LaunchTable launches_;
  CodeSpans code_spans_;
  std::vector<bool> kernels_seen_;  // by StringId
  std::vector<TimeSpan> long_first_launches_;
  absl::flat_hash_map<uint64_t, StreamPlace> places_;
  absl::flat_hash_set<uint64_t> disk_files_;  // descriptors, as objects
  struct GraphRecords {
    uint32_t last_correlation = 0;
    uint32_t complete_count = 0;  // records of the launch before the last one; 0: not known
  };
  absl::flat_hash_map<uint64_t, GraphRecords> records_of_graph_;  // by executable graph
  struct RecordsOfCall {
    uint64_t came = 0, given_up = 0;
  };
  RecordsOfCall& RecordsOf(const Call& call);
  std::vector<RecordsOfCall> records_of_call_[2];  // by domain and callback id
  std::vector<Line> line_of_name_;                 // by StringId; kCount: not looked up yet
  HostNs latest_ = INT64_MIN;
  TimelineCounts counts_;
  bool gpu_records_off_ = false;
  HostNs last_recorded_launch_ = 0;  // begin of the newest launch of which a record came
};

}  // namespace stallscope
