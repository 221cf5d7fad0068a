// CUPTI's activity buffers to kGpuOp records.
//
// What it reads: one completed buffer, walked only with the parser of the library that filled it; fields that this
// library's records are too short for read as 0. What it writes: the calling thread's ring, loss counters, names and
// devices. Integrity: a record whose times are missing, reversed, before its launch or outside the life of the process becomes a count,
// never a number. Threads: any, several at once (CUPTI's worker and whoever flushes). No lock of our own is held, and
// no CUPTI function but the parser is called.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "agent/cupti/launch_times.h"
#include "agent/cupti/library_clock.h"
#include "agent/cupti/name_ids.h"
#include "agent/cupti/record_sizes.h"

namespace stallscope::agent {

class ActivityDecoder {
 public:
  // `process_start_ns`: no GPU work of this process is older. `simulated_gpu` goes into the devices' descriptions.
  void SetUp(uint64_t process_start_ns, bool simulated_gpu) noexcept;

  // The parser of the library that will fill the buffers, and what it was found to say. Before the buffers are
  // registered.
  void UseParser(const RecordParser& parser, const RecordSizes& sizes) noexcept;

  // What makes CLOCK_MONOTONIC of the library's timestamps.
  LibraryClock& clock() noexcept { return clock_; }

  // Whether grid and block sizes are recorded (level kernels and above).
  void SetShapes(bool shapes) noexcept { shapes_.store(shapes, std::memory_order_relaxed); }

  // A call that puts work on a stream begins now; no record of that work may be older.
  void NoteLaunch(uint32_t correlation_id, uint64_t now_ticks) noexcept {
    launch_times_.Note(correlation_id, now_ticks);
  }

  // Whether a graph has run of which no node was ever seen; asking begins anew.
  bool TakeUnlearned() noexcept { return unlearned_.exchange(false, std::memory_order_relaxed); }

  // Decodes the buffer; returns how many records became GPU operations. `now_ns`: no work ends later.
  uint64_t Decode(uint8_t* buffer, size_t valid_bytes, uint64_t now_ns) noexcept;

 private:
  struct Span {
    uint64_t begin_ns, duration_ns;
  };
  // The moment of decoding, in both clocks.
  struct Now {
    uint64_t ns, ticks;
  };
  bool CheckTimes(uint64_t start, uint64_t end, uint32_t correlation_id, const Now& now, Span* span) const noexcept;
  bool DecodeRecord(const CUpti_Activity* record, const Now& now) noexcept;
  bool DecodeKernel(const CUpti_ActivityKernel10* kernel, uint32_t bytes, const Now& now) noexcept;
  bool DecodeCopy(const CUpti_ActivityMemcpy6* copy, uint32_t bytes, const Now& now) noexcept;
  bool DecodePeerCopy(const CUpti_ActivityMemcpyPtoP4* copy, uint32_t bytes, const Now& now) noexcept;
  bool DecodeMemset(const CUpti_ActivityMemset4* memset, uint32_t bytes, const Now& now) noexcept;
  bool DecodeGraph(const CUpti_ActivityGraphTrace2* graph, const Now& now) noexcept;
  bool DecodeSync(const CUpti_ActivitySynchronization2* sync, const Now& now) noexcept;
  void DecodeDevice(const CUpti_ActivityDevice5* device) noexcept;

  RecordParser parser_;
  RecordSizes sizes_;
  uint64_t process_start_ns_ = 0;
  bool simulated_gpu_ = false;
  LibraryClock clock_;
  std::atomic<bool> shapes_{false};
  NameIds names_;
  LaunchTimes launch_times_;
  // Executable graphs whose nodes were seen: id at id % kGraphs. One that another has displaced is learnt again.
  static constexpr uint32_t kGraphs = 256;
  std::atomic<uint32_t> learnt_[kGraphs] = {};
  std::atomic<bool> unlearned_{false};
};

}  // namespace stallscope::agent
