#include "tools/tui/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// After the C headers: curses defines macros with short names.
#define NCURSES_NOMACROS 1
#include <ncurses.h>

namespace stallscope::tui {
namespace {

class CursesTerminal : public Terminal {
 public:
  CursesTerminal(SCREEN* screen, std::FILE* input) : screen_(screen), input_(input) {
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
    if (has_colors()) {
      start_color();
      use_default_colors();
      const std::pair<Style, short> colors[] = {{Style::kGpuUseful, COLOR_GREEN}, {Style::kGpuOverhead, COLOR_YELLOW},
                                                {Style::kHost, COLOR_RED},        {Style::kIdle, COLOR_BLUE},
                                                {Style::kUnknown, COLOR_MAGENTA}, {Style::kWarning, COLOR_YELLOW}};
      for (const auto& [style, color] : colors) init_pair(static_cast<short>(style), color, -1);
    }
  }

  ~CursesTerminal() override {
    endwin();
    delscreen(screen_);
    if (input_ != stdin) std::fclose(input_);
  }

  size_t width() const override { return static_cast<size_t>(getmaxx(stdscr)); }
  size_t height() const override { return static_cast<size_t>(getmaxy(stdscr)); }

  void Show(const std::vector<StyledLine>& lines) override {
    werase(stdscr);
    for (size_t row = 0; row < lines.size() && row < height(); ++row) {
      wmove(stdscr, static_cast<int>(row), 0);
      for (const Span& span : lines[row]) {
        wattrset(stdscr, AttributeOf(span.style));
        waddstr(stdscr, OneLine(span.text).c_str());
      }
    }
    wattrset(stdscr, A_NORMAL);
    wrefresh(stdscr);
  }

  int Key(int timeout_ms) override {
    wtimeout(stdscr, timeout_ms);
    const int key = wgetch(stdscr);
    return key == KEY_RESIZE ? 0 : key == ERR ? -1 : key;
  }

 private:
  static int AttributeOf(Style style) {
    switch (style) {
      case Style::kPlain:
        return A_NORMAL;
      case Style::kBold:
        return A_BOLD;
      case Style::kDim:
        return A_DIM;
      default:
        return has_colors() ? static_cast<int>(COLOR_PAIR(static_cast<int>(style))) : A_NORMAL;
    }
  }

  SCREEN* screen_;
  std::FILE* input_;
};

}  // namespace

bool LocaleIsUtf8() { return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

absl::StatusOr<std::unique_ptr<Terminal>> Terminal::Open(Keys keys) {
  if (isatty(STDOUT_FILENO) == 0 || (keys == Keys::kFromStdin && isatty(STDIN_FILENO) == 0)) {
    return absl::UnavailableError("not a terminal");
  }
  std::FILE* input = keys == Keys::kFromStdin ? stdin : std::fopen("/dev/null", "re");
  if (input == nullptr) return absl::UnavailableError("/dev/null cannot be read");
  SCREEN* screen = newterm(nullptr, stdout, input);
  if (screen == nullptr) {
    if (input != stdin) std::fclose(input);
    const char* kind = std::getenv("TERM");
    return absl::UnavailableError("the terminal kind '" + std::string(kind != nullptr ? kind : "") +
                                  "' is not known here. Set TERM, or use --once.");
  }
  set_term(screen);
  return std::make_unique<CursesTerminal>(screen, input);
}

}  // namespace stallscope::tui
