// Text with meaning instead of colour: what a view yields and what a terminal or a pipe shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::tui {

enum class Style : uint8_t { kPlain, kBold, kDim, kGpuUseful, kGpuOverhead, kHost, kIdle, kUnknown, kWarning };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};

using StyledLine = std::vector<Span>;

// Names come from the program and may hold anything: without what would end the line or steer the terminal, each byte of
// which becomes '?'.
std::string OneLine(std::string_view text);

// Without styles, each line ended by '\n', no blanks at line ends.
std::string PlainText(const std::vector<StyledLine>& lines);

}  // namespace stallscope::tui
