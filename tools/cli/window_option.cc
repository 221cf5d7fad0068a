#include "tools/cli/window_option.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace stallscope::cli {

absl::StatusOr<int64_t> ParseWindow(const std::string& text) {
  if (text == "all") return 0;
  absl::Duration window;
  if (!absl::ParseDuration(text, &window) || window <= absl::ZeroDuration() || window > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the window ", text, ". Give 10s, 500ms, 5m or all."));
  }
  return absl::ToInt64Nanoseconds(window);
}

}  // namespace stallscope::cli
