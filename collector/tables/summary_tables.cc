#include "collector/tables/summary_tables.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "proto/wire/shm.h"

namespace stallscope {
namespace {

constexpr size_t kNoRow = ~size_t{0};

std::string_view CopyLabel(wire::CopyKind kind) {
  switch (kind) {
    case wire::CopyKind::kHostToHost:
      return "Host-to-Host";
    case wire::CopyKind::kHostToDevice:
      return "Host-to-Device";
    case wire::CopyKind::kDeviceToHost:
      return "Device-to-Host";
    case wire::CopyKind::kDeviceToDevice:
      return "Device-to-Device";
    case wire::CopyKind::kPeerToPeer:
      return "Peer-to-Peer";
    case wire::CopyKind::kDefault:
    case wire::CopyKind::kUnknown:
      break;
  }
  return "Unknown";
}

// Remembers which row a small process-private number belongs to, so that a name is looked up once.
class RowCache {
 public:
  template <typename MakeRow>
  size_t Get(size_t number, MakeRow make_row) {
    if (number >= kLimit) return make_row();
    if (number >= rows_.size()) rows_.resize(number + 1, kNoRow);
    if (rows_[number] == kNoRow) rows_[number] = make_row();
    return rows_[number];
  }

 private:
  static constexpr size_t kLimit = size_t{1} << 20;
  std::vector<size_t> rows_;
};

}  // namespace

const SummaryInfo* FindSummary(std::string_view name) {
  for (const SummaryInfo& summary : kSummaries) {
    if (name == summary.name || name == summary.old_name) return &summary;
  }
  return nullptr;
}

std::string_view PrintedApiName(std::string_view name) {
  if (name.size() > 6 && name.substr(name.size() - 6, 2) == "_v") name.remove_suffix(6);
  return name;
}

std::string DemangledKernelName(std::string_view name) {
  if (name.substr(0, 2) != "_Z") return std::string(name);
  const std::string mangled(name);
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return mangled;
  std::string demangled = status == 0 ? text : mangled;
  std::free(text);
  return demangled;
}

constexpr int64_t kMostCallsOfASpin = 1 << 16;

class SummaryTables::OneProcess : public EventSink {
 public:
  OneProcess(SummaryTables* tables, const ProcessNames* names) : tables_(tables), names_(names) {}

  void OnWait(const WaitEvent& event) override {
    DurationTable& table = tables_->table(SummaryKind::kOsRuntime);
    const auto number = static_cast<size_t>(event.call);
    const size_t row = os_rows_.Get(number, [&] {
      return number < static_cast<size_t>(wire::OsCall::kCount) ? table.Row(wire::kOsCalls[number].name)
                                                                : table.Row("os_call_" + std::to_string(number));
    });
    table.Add(row, event.end - event.begin);
  }

  void OnCudaCall(const CudaCallEvent& event) override {
    DurationTable& table = tables_->table(SummaryKind::kCudaApi);
    const size_t number = static_cast<size_t>(event.domain) << 16 | event.call;
    const size_t row = cuda_rows_.Get(number, [&] { return table.Row(names_->CallName(event.domain, event.call)); });
    // A loop of queries was recorded as one interval: as many calls of its average length, pauses between them included.
    const bool spin = (event.flags & wire::kCudaFlagSpin) != 0 && event.correlation > 1;
    const int64_t calls = spin ? std::min<int64_t>(event.correlation, kMostCallsOfASpin) : 1;
    const int64_t length_ns = event.end - event.begin;
    for (int64_t i = 0; i < calls; ++i) table.Add(row, length_ns * (i + 1) / calls - length_ns * i / calls);
  }

  void OnGpuOp(const GpuOpEvent& event) override {
    const int64_t duration_ns = event.end - event.begin;
    switch (event.kind) {
      case wire::GpuOpKind::kKernel: {
        DurationTable& table = tables_->table(SummaryKind::kKernels);
        const size_t row =
            kernel_rows_.Get(event.name, [&] { return table.Row(DemangledKernelName(names_->String(event.name))); });
        table.Add(row, duration_ns);
        break;
      }
      case wire::GpuOpKind::kCopy: {
        DurationTable& table = tables_->table(SummaryKind::kMemoryTime);
        const auto number = static_cast<size_t>(event.copy_kind);
        const size_t row = copy_rows_.Get(
            number, [&] { return table.Row("[CUDA memcpy " + std::string(CopyLabel(event.copy_kind)) + "]"); });
        table.Add(row, duration_ns);
        break;
      }
      case wire::GpuOpKind::kMemset:
        tables_->table(SummaryKind::kMemoryTime).Add("[CUDA memset]", duration_ns);
        break;
      case wire::GpuOpKind::kGraph:
      case wire::GpuOpKind::kSync:
        break;
    }
  }

 private:
  SummaryTables* tables_;
  const ProcessNames* names_;
  RowCache os_rows_, cuda_rows_, kernel_rows_, copy_rows_;
};

SummaryTables::SummaryTables() = default;
SummaryTables::~SummaryTables() = default;

EventSink* SummaryTables::OnProcess(const ProcessInfo&, const ProcessNames* names) {
  processes_.push_back(std::make_unique<OneProcess>(this, names));
  return processes_.back().get();
}

std::vector<DurationRow> SummaryTables::Rows(const SummaryInfo& summary) const {
  std::vector<DurationRow> rows = tables_[static_cast<size_t>(summary.kind)].Rows(summary.order);
  if (summary.kind == SummaryKind::kCudaApi) {
    for (DurationRow& row : rows) row.key = std::string(PrintedApiName(row.key));
  }
  return rows;
}

}  // namespace stallscope
