#include "tools/tui/memory_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/tui/number_text.h"

namespace stallscope::tui {
namespace {

constexpr size_t kMostCalls = 2, kMostPools = 2, kMostLoads = 3, kMostNames = 4;

std::string Count(uint64_t count) { return Grouped(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX))); }

// One part after the other; what does not fit goes to a next line, so that no number is cut off.
class Paragraph {
 public:
  Paragraph(std::string title, size_t width) : width_(width), line_(Padded(title, kIndent)) {}
  void Add(const std::string& part) {
    const std::string separator = empty_ ? "" : "   ";
    if (!empty_ && Columns(line_) + separator.size() + Columns(part) > width_) {
      lines_.push_back({{line_}});
      line_ = std::string(kIndent, ' ') + part;
    } else {
      line_ += separator + part;
    }
    empty_ = false;
  }
  void Finish(std::vector<StyledLine>* lines) {
    if (empty_) return;
    lines_.push_back({{Columns(line_) > width_ ? Padded(line_, width_) : line_}});
    for (StyledLine& line : lines_) lines->push_back(std::move(line));
  }

 private:
  static constexpr size_t kIndent = 9;
  const size_t width_;
  std::string line_;
  bool empty_ = true;
  std::vector<StyledLine> lines_;
};

}  // namespace

std::string ByteText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  return unit == 0 ? absl::StrCat(bytes, " B") : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::vector<StyledLine> RenderMemory(const ProcessReport& process, const ViewOptions& options) {
  std::vector<StyledLine> lines;
  const MemoryReport& memory = process.memory;
  Paragraph books("memory", options.width);
  for (const MemoryKindReport& kind : memory.kinds) {
    if (kind.live_bytes == 0 && kind.allocations + kind.releases == 0) continue;
    std::string text = absl::StrCat(kind.kind, " ", ByteText(kind.live_bytes));
    if (kind.peak_bytes > kind.live_bytes) absl::StrAppend(&text, " (peak ", ByteText(kind.peak_bytes), ")");
    if (kind.allocations + kind.releases != 0) {
      absl::StrAppend(&text, ", +", Count(kind.allocations), " -", Count(kind.releases));
    }
    books.Add(text);
  }
  if (memory.came_and_went_bytes != 0) {
    std::string text = absl::StrCat(ByteText(memory.came_and_went_bytes), " came and went");
    if (memory.seconds >= 1) {
      const double per_s = static_cast<double>(memory.came_and_went_bytes) / memory.seconds;
      absl::StrAppend(&text, " (", ByteText(static_cast<uint64_t>(per_s)), "/s)");
    }
    books.Add(text);
  }
  for (size_t i = 0; i < std::min(kMostCalls, memory.calls.size()); ++i) {
    const MemoryCallReport& call = memory.calls[i];
    std::string text = absl::StrCat(Count(call.calls), " ", call.name, " ", Duration(call.total_ns));
    if (call.failed != 0) absl::StrAppend(&text, ", ", Count(call.failed), " failed");
    books.Add(text);
  }
  if (memory.untracked + memory.refused != 0) {
    books.Add(absl::StrCat(Count(memory.untracked + memory.refused), " allocations not kept"));
  }
  books.Finish(&lines);

  Paragraph pools("pools", options.width);
  for (size_t i = 0; i < std::min(kMostPools, memory.pools.size()); ++i) {
    const MemoryPoolReport& pool = memory.pools[i];
    std::string text =
        absl::StrCat(ByteText(pool.used_bytes), " of ", ByteText(pool.reserved_bytes), " used, GPU ", pool.device);
    if (pool.trims != 0) absl::StrAppend(&text, ", trimmed ", Count(pool.trims), " times");
    pools.Add(text);
  }
  if (memory.pools.size() > kMostPools) pools.Add(absl::StrCat("and ", memory.pools.size() - kMostPools, " more"));
  pools.Finish(&lines);

  const UnifiedMemoryReport& unified = memory.unified;
  Paragraph pages("unified", options.width);
  if (unified.gpu_faults != 0) {
    pages.Add(absl::StrCat(Count(unified.gpu_faults), " GPU faults, ", Duration(unified.gpu_fault_ns)));
  }
  if (unified.cpu_faults != 0) pages.Add(absl::StrCat(Count(unified.cpu_faults), " CPU faults"));
  if (unified.to_device_bytes != 0) pages.Add(absl::StrCat(ByteText(unified.to_device_bytes), " to GPUs"));
  if (unified.to_host_bytes != 0) pages.Add(absl::StrCat(ByteText(unified.to_host_bytes), " to the host"));
  if (unified.between_devices_bytes != 0) {
    pages.Add(absl::StrCat(ByteText(unified.between_devices_bytes), " between GPUs"));
  }
  if (unified.thrashing != 0) pages.Add(absl::StrCat("thrashing ", Count(unified.thrashing), " times"));
  if (unified.throttled != 0) {
    pages.Add(absl::StrCat("held back ", Count(unified.throttled), " times, ", Duration(unified.throttled_ns)));
  }
  pages.Finish(&lines);

  Paragraph code("code", options.width);
  for (size_t i = 0; i < std::min(kMostLoads, process.code_loads.size()); ++i) {
    const CodeLoadReport& load = process.code_loads[i];
    code.Add(absl::StrCat(load.what, ": ", Count(load.count), " times, ", Duration(load.total_ns), ", longest ",
                          Duration(load.longest_ns)));
  }
  code.Finish(&lines);

  Paragraph names("names", options.width);
  for (size_t i = 0; i < std::min(kMostNames, process.names.size()); ++i) {
    const NamedReport& named = process.names[i];
    names.Add(named.kind == "device" ? absl::StrCat("GPU ", named.value, " ", named.name)
                                     : absl::StrFormat("%s 0x%x %s", named.kind, named.value, named.name));
  }
  if (process.names.size() > kMostNames) names.Add(absl::StrCat("and ", process.names.size() - kMostNames, " more"));
  names.Finish(&lines);
  return lines;
}

}  // namespace stallscope::tui
