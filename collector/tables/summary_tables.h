// The four summary tables that users of Nsight Systems know, with the same columns, order, rounding and names.
//
// Written by: the events of all processes of a capture (or of several), each process through its own sink. Read by:
// `stallscope report` through table_format.h. Which events become which rows:
//   cuda_api_sum            every CUDA runtime and driver call, by its name with the version; a four-digit version is
//   not printed cuda_gpu_kern_sum       every kernel, by its demangled name; whole graphs (graph-level tracing) are not
//   kernels cuda_gpu_mem_time_sum   every copy and memset on the device osrt_sum                every OS call that
//   waited at least the agent's threshold, by name; a collapsed spin counts once
// Single thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/base/event.h"
#include "collector/tables/duration_table.h"

namespace stallscope {

enum class SummaryKind : uint8_t { kOsRuntime, kCudaApi, kKernels, kMemoryTime };

struct SummaryInfo {
  SummaryKind kind;
  std::string_view name;      // "cuda_api_sum"; the file is <base>_<name>.csv
  std::string_view old_name;  // accepted too: "cudaapisum"
  std::string_view title;     // heading of the text form
  std::string_view count_column, name_column;
  std::string_view missing;  // "CUDA trace data": what a capture without rows does not contain
  RowOrder order;
};

// In the order in which they are made when nothing is asked for.
inline constexpr SummaryInfo kSummaries[] = {
    {SummaryKind::kOsRuntime, "osrt_sum", "osrtsum", "OS Runtime Summary", "Num Calls", "Name", "OS Runtime trace data",
     RowOrder::kTotal},
    {SummaryKind::kCudaApi, "cuda_api_sum", "cudaapisum", "CUDA API Summary", "Num Calls", "Name", "CUDA trace data",
     RowOrder::kTotal},
    {SummaryKind::kKernels, "cuda_gpu_kern_sum", "gpukernsum", "CUDA GPU Kernel Summary", "Instances", "Name",
     "CUDA kernel data", RowOrder::kTotalThenCountAndName},
    {SummaryKind::kMemoryTime, "cuda_gpu_mem_time_sum", "gpumemtimesum", "CUDA GPU MemOps Summary (by Time)", "Count",
     "Operation", "GPU memory data", RowOrder::kTotal},
};

// nullptr when there is no such table; takes new and old names.
const SummaryInfo* FindSummary(std::string_view name);

// "cudaMemcpyAsync_v3020" -> "cudaMemcpyAsync"; five-digit versions and the driver's _v2 stay, as nsys prints them.
std::string_view PrintedApiName(std::string_view name);

// "_Z3addPf" -> "add(float*)"; anything that is not a mangled name stays.
std::string DemangledKernelName(std::string_view name);

class SummaryTables : public ProcessSink {
 public:
  SummaryTables();
  ~SummaryTables() override;

  EventSink* OnProcess(const ProcessInfo& process, const ProcessNames* names) override;

  DurationTable& table(SummaryKind kind) { return tables_[static_cast<size_t>(kind)]; }
  // Rows with the names as they are printed.
  std::vector<DurationRow> Rows(const SummaryInfo& summary) const;

 private:
  class OneProcess;
  std::array<DurationTable, 4> tables_;
  std::vector<std::unique_ptr<OneProcess>> processes_;
};

}  // namespace stallscope
