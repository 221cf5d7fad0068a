// One profiled process, from its first hello to its end: frames in, analysis and capture out, its memory read when it
// does not stream and after it has died.
//
// Lives on the collector's thread. Owned by the SessionTable. The capture is borrowed and may be nullptr.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "collector/budget/process_analysis.h"
#include "collector/capture/capture.h"
#include "collector/ingest/process_stream.h"
#include "collector/ingest/ring_drain.h"
#include "collector/ingest/shm_image.h"
#include "collector/main/cpu_limits.h"
#include "collector/main/jit_names.h"
#include "collector/main/object_identities.h"
#include "collector/main/proc_files.h"
#include "collector/main/session_notices.h"
#include "collector/main/thread_sampler.h"
#include "collector/main/waits_in_flight.h"
#include "collector/symbols/stack_names.h"

namespace stallscope::v1 {
class Frame;
class Hello;
}  // namespace stallscope::v1

namespace stallscope {

// Makes the analysis of a process; tests give their own.
using AnalysisFactory = std::function<std::unique_ptr<ProcessAnalysis>(const ProcessInfo&, const ProcessNames*)>;

class ProcessSession {
 public:
  struct Host {
    const ProcFiles* proc;
    int64_t boot_offset_ns;  // CLOCK_BOOTTIME less CLOCK_MONOTONIC
    UnixSockets* unix_sockets;
  };

  // `host_pid`: the peer's pid as this host sees it, 0 when it cannot be seen.
  ProcessSession(uint32_t process, const v1::Hello& hello, uint32_t host_pid, const Host& host,
                 const AnalysisFactory& factory, CaptureWriter* capture);
  ~ProcessSession();

  // --- frames of the process's connection. `bytes` are the frame's own, for the capture.
  absl::Status OnFrame(const v1::Frame& frame, std::string_view bytes, HostNs now);
  // The memory that came with a hello; taken over. An unusable one is a notice, the stream goes on without it.
  void OnMemory(int fd);
  void OnConnected() { ++connections_; }
  void OnDisconnected(HostNs now);

  // --- called by the collector's clock
  uint64_t DrainIfNotStreaming(HostNs now);  // how many records there were
  void SampleThreads(HostNs now);
  void ReportOwnHealth(HostNs now);  // for a process that has no streaming thread to do it
  void Advance(HostNs now) { analysis_->Advance(now); }
  // Over: the process is gone, or said goodbye and went silent.
  bool IsOver(HostNs now) const;
  // Reads what is left in the memory, closes the analysis. Once; nothing but Report after it.
  void Finish(HostNs now, bool became_another_program = false);

  bool finished() const { return finished_; }
  HostNs finished_at() const { return finished_at_; }
  bool connected() const { return connections_ > 0; }
  const ProcessInfo& info() const { return stream_.info(); }
  uint32_t pid() const { return host_pid_ != 0 ? host_pid_ : stream_.info().identity.pid; }
  bool streaming() const;
  const ingest::DecodeCounts& counts() const { return stream_.counts(); }
  uint64_t refused_frames() const { return refused_frames_; }
  uint64_t salvaged_records() const { return salvaged_records_; }
  // Ended without a step and either in its first second or by becoming another program: a shell's helpers, which only
  // push aside what the user came for.
  bool is_by_the_way() const { return finished_ && by_the_way_; }

  ProcessReport Report(int64_t window_ns, HostNs now) const;

 private:
  void FeedIdentities(HostNs now);
  void FeedCodes(const v1::Intern& intern);
  void Feed(const v1::Frame& frame);  // a frame that we made ourselves: stream and capture
  void ReadBlocked(HostNs now, std::vector<BlockedThread>* list) const;  // longest first

  const uint32_t process_;
  const uint32_t host_pid_;
  const Host host_;
  CaptureWriter* const capture_;
  ingest::ProcessStream stream_;
  std::unique_ptr<ProcessAnalysis> analysis_;
  std::unique_ptr<ingest::ShmImage> image_;
  std::unique_ptr<ingest::RingDrain> drain_;
  ThreadSampler sampler_;
  ObjectIdentities identities_;
  CpuLimits cpu_limits_;
  JitNames jit_names_;
  mutable StackNames stack_names_;  // a cache
  WaitsInFlight waits_in_flight_;
  SessionNotices notices_;
  std::vector<BlockedThread> blocked_at_death_;
  uint64_t host_start_ticks_ = 0;
  uint32_t level_;
  uint64_t said_events_ = 0, said_lost_ = 0, said_short_waits_ = 0;  // by the agent's last Health
  uint64_t agent_cpu_ns_ = 0, process_cpu_ns_ = 0;
  int connections_ = 0;  // two for a moment when the process came back before its old connection was seen to end
  bool looked_for_waits_ = false;
  bool said_goodbye_ = false, finished_ = false, by_the_way_ = false;
  HostNs latest_now_ = 0, last_frame_at_ = 0, disconnected_at_ = 0, finished_at_ = 0, marked_at_ = 0;
  uint64_t refused_frames_ = 0, salvaged_records_ = 0;
};

}  // namespace stallscope
