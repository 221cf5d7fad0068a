#include "tools/tui/styled_text.h"

namespace stallscope::tui {

std::string PlainText(const std::vector<StyledLine>& lines) {
  std::string text;
  for (const StyledLine& line : lines) {
    for (const Span& span : line) text += span.text;
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace stallscope::tui
