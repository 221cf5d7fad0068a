#include "tools/cli/window_option.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace stallscope::cli {

absl::StatusOr<int64_t> ParseWindow(const std::string& text) {
  if (text == "all") return 0;
  absl::Duration window;
  if (!absl::ParseDuration(text, &window) || window <= absl::ZeroDuration() || window > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the window ", text, ". Give 1s, 10s, 5m or all."));
  }
  // Sums are kept by the second and for five minutes: what would be answered is another window than the one asked for.
  if (window % absl::Seconds(1) != absl::ZeroDuration() || window > absl::Minutes(5)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window is a whole number of seconds up to 5m, or all; not ", text, "."));
  }
  return absl::ToInt64Nanoseconds(window);
}

}  // namespace stallscope::cli
