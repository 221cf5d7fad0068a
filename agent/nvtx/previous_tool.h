// The NVTX tool that was configured before the agent came (nsys, CUPTI, another profiler): it goes on to get every call,
// and its answers are what the program sees.
//
// NVTX knows one tool. When NVTX_INJECTION64_PATH names another one, the agent takes its place in each library that uses
// NVTX, lets the other fill the library's function slots first, and forwards from its own functions. Handles of domains
// and registered strings, and ids of started ranges, are then the other tool's; a table of fixed size says which of ours
// belong to them. A tool that knows NVTX 1 alone keeps NVTX for itself (injection_path.cc). Any thread; no lock, no
// allocation.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdint>

namespace stallscope::agent {

// The configured tool's entry point; nullptr when there is none, or it is the agent itself. Loads it at the first call.
NvtxInitializeInjectionNvtxFunc_t FindPreviousTool() noexcept;

inline constexpr uint32_t kNvtxSlots = 16;

// What the tool put into the slots of a module; nullptr where it put nothing.
struct PreviousFunctions {
  std::atomic<NvtxFunctionPointer> slots[kNvtxSlots] = {};

  template <typename Function>
  Function* At(uint32_t slot) const noexcept {
    return reinterpret_cast<Function*>(slots[slot].load(std::memory_order_acquire));
  }
};
extern PreviousFunctions g_previous_core, g_previous_domains;

// Handles and ids of the other tool, and ours. A full table forgets: then the range has no text or is not recorded.
class PreviousHandles {
 public:
  void Add(uint64_t theirs, uint64_t ours) noexcept;
  uint64_t Of(uint64_t theirs) const noexcept;  // 0 when it is not known
  uint64_t Take(uint64_t theirs) noexcept;      // the same, and forgets it

 private:
  static constexpr uint32_t kEntries = 4096, kTries = 64;
  static uint32_t First(uint64_t theirs) noexcept {
    return static_cast<uint32_t>((theirs * 0x9e3779b97f4a7c15u) >> 32) % kEntries;
  }
  struct Entry {
    std::atomic<uint64_t> theirs{0};
    std::atomic<uint64_t> ours{0};
  };
  Entry entries_[kEntries];
};

}  // namespace stallscope::agent
