// The terminal as a page of styled lines (ncurses). One object at a time; it gives the terminal back as it was when
// destroyed.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/tui/styled_text.h"

namespace stallscope::tui {

class Terminal {
 public:
  virtual ~Terminal() = default;

  // kNone leaves the keyboard to somebody else: Key() then never sees a key.
  enum class Keys { kFromStdin, kNone };

  // Unavailable: stdout (or, with keys, stdin) is no terminal, or its kind is not known.
  static absl::StatusOr<std::unique_ptr<Terminal>> Open(Keys keys);

  virtual size_t width() const = 0;
  virtual size_t height() const = 0;

  virtual void Show(const std::vector<StyledLine>& lines) = 0;

  // A pressed key, or -1 when none came in time. A resized terminal reads as 0: draw again.
  virtual int Key(int timeout_ms) = 0;
};

// Whether the locale shows UTF-8.
bool LocaleIsUtf8();

}  // namespace stallscope::tui
