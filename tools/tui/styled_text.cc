#include "tools/tui/styled_text.h"

namespace stallscope::tui {

std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return line;
}

std::string PlainText(const std::vector<StyledLine>& lines) {
  std::string text;
  for (const StyledLine& line : lines) {
    for (const Span& span : line) text += OneLine(span.text);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace stallscope::tui
