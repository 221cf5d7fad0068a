// How often and for how long a process loaded or compiled code, by the second.
//
// Written by: ProcessAnalysis. Read by: its Report. Single thread, fixed memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/memory/memory_report.h"
#include "collector/memory/memory_words.h"

namespace stallscope {

class CodeLoads {
 public:
  void OnLoad(const CodeLoadEvent& load);
  // Loading calls of the program (cuModuleLoadData, cudaLibraryLoadData); others are left out.
  void OnCall(const CudaCallEvent& call);

  // A launch that was the first of its kernel and took long.
  void OnLongFirstLaunch(HostNs begin, HostNs end) { Count(kFirstLaunches, end, {1, 0, end - begin, end - begin}); }

  // The last `window_ns` before `now`; everything for window_ns <= 0. Longest first.
  std::vector<CodeLoadReport> Report(int64_t window_ns, HostNs now) const;

 private:
  static constexpr int kSeconds = 301;
  static constexpr int kCalls = kCodeLoadKinds;  // behind the kinds
  struct Sum {
    uint64_t count = 0, bytes = 0;
    int64_t total_ns = 0, longest_ns = 0;
    void Add(const Sum& other);
  };
  static constexpr int kFirstLaunches = kCalls + 1;
  using Sums = std::array<Sum, kFirstLaunches + 1>;
  struct Second {
    int64_t second = INT64_MIN;
    Sums sums{};
  };
  void Count(size_t what, HostNs at, const Sum& one);

  std::vector<Second> seconds_ = std::vector<Second>(kSeconds);
  Sums total_{};
  absl::flat_hash_map<uint32_t, HostNs> module_told_until_;  // by tid
};

}  // namespace stallscope
