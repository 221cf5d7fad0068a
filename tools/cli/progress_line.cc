#include "tools/cli/progress_line.h"

#include "absl/strings/str_cat.h"

namespace stallscope::cli {

std::string ProgressLine::Update(uint64_t done, uint64_t all, int64_t now_ns) {
  if (now_ns < next_ns_ || all == 0) return "";
  next_ns_ = now_ns + kBetweenNs;
  shown_ = true;
  return absl::StrCat("\r", what_, ": ", done >= all ? 100 : static_cast<int>(100.0 * done / all), " %\x1b[K");
}

}  // namespace stallscope::cli
