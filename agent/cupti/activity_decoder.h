// CUPTI's activity buffers to kGpuOp records.
//
// The records of memory and of loaded code become kMemory and kCodeLoad records (memory_records.cc, code_records.cc).
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

  // Records so far that tell of the program, whether they could be used or not.
  uint64_t told() const noexcept { return told_.load(std::memory_order_relaxed); }

  // Whether a graph has run of which no node was ever seen; asking begins anew.
  bool TakeUnlearned() noexcept { return unlearned_.exchange(false, std::memory_order_relaxed); }

  // What the process's contexts say about MPS; kNotKnown until one has come.
  enum class Mps : uint8_t { kNotKnown, kNo, kYes };
  Mps mps() const noexcept { return mps_.load(std::memory_order_relaxed); }
  // Whether managed memory was ever allocated.
  bool managed_memory() const noexcept { return managed_memory_.load(std::memory_order_relaxed); }

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
  // memory_records.cc
  bool CheckTime(uint64_t timestamp, const Now& now, uint64_t* at_ns) const noexcept;
  void DecodeMemory(const CUpti_ActivityMemory4* memory, uint32_t bytes, const Now& now) noexcept;
  void DecodePool(const CUpti_ActivityMemoryPool3* pool, uint32_t bytes, const Now& now) noexcept;
  void DecodeUnifiedMemory(const CUpti_ActivityUnifiedMemoryCounter3* counter, uint32_t bytes, const Now& now) noexcept;
  void NotePool(uint64_t at_ns, uint64_t pool, uint32_t device, uint64_t reserved_bytes, uint64_t used_bytes) noexcept;
  // code_records.cc
  void DecodeOverhead(const CUpti_ActivityOverhead3* overhead, uint32_t bytes, const Now& now) noexcept;
  void DecodeJit(const CUpti_ActivityJit2* jit, uint32_t bytes, const Now& now) noexcept;
  void DecodeContext(const CUpti_ActivityContext3* context, uint32_t bytes) noexcept;
  void DecodeDevice(const CUpti_ActivityDevice5* device, uint32_t bytes) noexcept;

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
  std::atomic<uint64_t> told_{0};
  std::atomic<Mps> mps_{Mps::kNotKnown};
  std::atomic<bool> managed_memory_{false};
  // How much each pool had reserved when it was last told of: pool's address at a hash of it.
  static constexpr uint32_t kPools = 64;
  struct Pool {
    std::atomic<uint64_t> address{0}, reserved_bytes{0};
  };
  Pool pools_[kPools];
};

}  // namespace stallscope::agent
