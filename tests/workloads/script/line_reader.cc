#include "tests/workloads/script/line_reader.h"

#include <algorithm>
#include <charconv>

namespace workloads::script {
namespace {

constexpr size_t kMaxShownBytes = 40;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameBegin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameBegin(c) || IsDigit(c) || c == '.' || c == '-' || c == ':'; }

// What an error shows of a foreign word: short, and printable.
std::string Shown(const std::string& text) {
  std::string shown;
  for (char c : text.substr(0, kMaxShownBytes)) shown += c >= ' ' && c <= '~' ? c : '?';
  return '"' + shown + (text.size() > kMaxShownBytes ? "...\"" : "\"");
}

struct Unit {
  std::string_view name;
  uint64_t ns;
  size_t decimals;  // of a nanosecond
};
constexpr Unit kUnits[] = {{"ns", 1, 0}, {"us", 1000, 3}, {"ms", 1'000'000, 6}, {"s", 1'000'000'000, 9}};

}  // namespace

std::string ErrorAt(const std::string& file_name, Place place, const std::string& what) {
  return file_name + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + what;
}

LineReader::LineReader(const std::string& file_name, std::string_view line, uint32_t line_number, std::string* error)
    : file_name_(file_name), error_(error) {
  Cut(line, line_number);
}

void LineReader::Cut(std::string_view line, uint32_t line_number) {
  size_t i = 0;
  const auto place = [&](size_t at) { return Place{line_number, static_cast<uint32_t>(at + 1)}; };
  while (true) {
    while (i < line.size() && IsBlank(line[i])) ++i;
    end_ = place(i);
    if (i == line.size() || line[i] == '#') return;
    Word word;
    word.place = place(i);
    if (line[i] == '"') {
      word.quoted = true;
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) ++i;
        word.text += line[i];
      }
      if (i == line.size()) return Refuse(word.place, "expected a closing quote before the end of the line");
      ++i;
      if (i < line.size() && !IsBlank(line[i]) && line[i] != '#')
        return Refuse(place(i), "expected a blank after the quote");
    } else {
      // A key's value is a word of its own, right behind its `key=`.
      while (i < line.size() && !IsBlank(line[i]) && line[i] != '#' && line[i] != '"') {
        word.text += line[i++];
        if (word.text.back() == '=') break;
      }
    }
    words_.push_back(std::move(word));
  }
}

Place LineReader::Here() const { return AtEnd() ? end_ : words_[next_].place; }

bool LineReader::Take(std::string_view word) {
  if (failed() || AtEnd() || words_[next_].quoted || words_[next_].text != word) return false;
  ++next_;
  return true;
}

bool LineReader::TakeKey(std::string_view key) {
  if (failed() || AtEnd() || words_[next_].quoted) return false;
  const std::string& text = words_[next_].text;
  if (text.size() != key.size() + 1 || text.back() != '=' || text.compare(0, key.size(), key) != 0) return false;
  ++next_;
  return true;
}

void LineReader::Refuse(Place place, const std::string& what) {
  if (error_->empty()) *error_ = ErrorAt(file_name_, place, what);
}

void LineReader::Expect(const std::string& expected) {
  const std::string found = AtEnd() ? "the end of the line" : Shown(words_[next_].text);
  Refuse(Here(), "expected " + expected + ", found " + found);
}

const Word* LineReader::Next(const std::string& expected) {
  if (failed()) return nullptr;
  if (AtEnd() || words_[next_].quoted) {
    Expect(expected);
    return nullptr;
  }
  return &words_[next_];
}

std::string LineReader::Name(const std::string& expected) {
  const Word* word = Next(expected);
  if (word == nullptr) return {};
  const std::string& text = word->text;
  if (!IsNameBegin(text[0]) || !std::all_of(text.begin(), text.end(), IsNamePart)) {
    Expect(expected + " (letters, digits and _ . : -, a letter first)");
    return {};
  }
  ++next_;
  return text;
}

std::string LineReader::Quoted(const std::string& expected) {
  if (failed()) return {};
  if (AtEnd() || !words_[next_].quoted || words_[next_].text.empty()) {
    Expect(expected);
    return {};
  }
  return words_[next_++].text;
}

bool LineReader::Digits(const Word& word, std::string_view text, uint64_t* value, const std::string& expected) {
  if (!word.text.empty() && word.text[0] == '-') {
    Refuse(word.place, "expected " + expected + ", found the negative " + Shown(word.text));
    return false;
  }
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (code == std::errc::result_out_of_range) {
    Refuse(word.place, Shown(word.text) + " is beyond every range; expected " + expected);
    return false;
  }
  if (code != std::errc() || end != text.data() + text.size()) {
    Expect(expected);
    return false;
  }
  return true;
}

uint64_t LineReader::Time(const std::string& what, uint64_t at_least_ns) {
  const std::string expected = what + " such as 12.5us (ns, us, ms or s)";
  const Word* word = Next(expected);
  if (word == nullptr) return 0;
  const std::string& text = word->text;
  size_t unit_at = text.size();
  while (unit_at > 0 && text[unit_at - 1] >= 'a' && text[unit_at - 1] <= 'z') --unit_at;
  for (const Unit& unit : kUnits) {
    if (text.compare(unit_at, std::string::npos, unit.name) != 0) continue;
    const std::string_view digits = std::string_view(text).substr(0, unit_at);
    const size_t point = digits.find('.');
    uint64_t whole = 0, part = 0;
    if (!Digits(*word, digits.substr(0, point), &whole, expected)) return 0;
    if (point != std::string_view::npos) {
      const std::string_view decimals = digits.substr(point + 1);
      if (decimals.size() > unit.decimals) {
        Refuse(word->place, Shown(text) + " is finer than a nanosecond");
        return 0;
      }
      if (decimals.empty() || !IsDigit(decimals[0]) || !Digits(*word, decimals, &part, expected)) {
        Expect(expected);
        return 0;
      }
      for (size_t i = decimals.size(); i < unit.decimals; ++i) part *= 10;
    }
    if (whole > kMaxTimeNs / unit.ns || whole * unit.ns + part > kMaxTimeNs) {
      Refuse(word->place, Shown(text) + " is beyond the range: at most a day (86400s)");
      return 0;
    }
    const uint64_t ns = whole * unit.ns + part;
    if (ns < at_least_ns) {
      Refuse(word->place, Shown(text) + " is too short: at least " + std::to_string(at_least_ns) + "ns");
      return 0;
    }
    ++next_;
    return ns;
  }
  if (!text.empty() && text[0] == '-') {
    Refuse(word->place, "expected " + expected + ", found the negative " + Shown(text));
  } else {
    Expect(expected);
  }
  return 0;
}

uint64_t LineReader::Number(const std::string& what, uint64_t least, uint64_t most) {
  const std::string expected = what + " from " + std::to_string(least) + " to " + std::to_string(most);
  const Word* word = Next(expected);
  uint64_t value = 0;
  if (word == nullptr || !Digits(*word, word->text, &value, expected)) return least;
  if (value < least || value > most) {
    Expect(expected);
    return least;
  }
  ++next_;
  return value;
}

int LineReader::Signed(const std::string& what, int least, int most) {
  const std::string expected = what + " from " + std::to_string(least) + " to " + std::to_string(most);
  const Word* word = Next(expected);
  if (word == nullptr) return least;
  int value = 0;
  const char* end_of_word = word->text.data() + word->text.size();
  const auto [end, code] = std::from_chars(word->text.data(), end_of_word, value);
  if (code != std::errc() || end != end_of_word || value < least || value > most) {
    Expect(expected);
    return least;
  }
  ++next_;
  return value;
}

Extent LineReader::Dimensions(const std::string& what, uint64_t most) {
  const std::string expected = what + " such as 12, 12x4 or 12x4x1 (each from 1 to " + std::to_string(most) + ")";
  const Word* word = Next(expected);
  Extent extent;
  if (word == nullptr) return extent;
  uint32_t* const parts[] = {&extent.x, &extent.y, &extent.z};
  std::string_view rest = word->text;
  for (uint32_t* part : parts) {
    const size_t cross = rest.find('x');
    uint64_t value = 0;
    if (!Digits(*word, rest.substr(0, cross), &value, expected)) return extent;
    if (value < 1 || value > most) {
      Expect(expected);
      return extent;
    }
    *part = static_cast<uint32_t>(value);
    if (cross == std::string_view::npos) {
      ++next_;
      return extent;
    }
    rest.remove_prefix(cross + 1);
  }
  Expect(expected);
  return extent;
}

int LineReader::OneOf(const std::string& expected, const std::vector<std::string_view>& words) {
  const Word* word = Next(expected);
  if (word == nullptr) return 0;
  const auto found = std::find(words.begin(), words.end(), word->text);
  if (found == words.end()) {
    Expect(expected);
    return 0;
  }
  ++next_;
  return static_cast<int>(found - words.begin());
}

void LineReader::End(const std::string& allowed) {
  if (!failed() && !AtEnd()) Expect(allowed.empty() ? "the end of the line" : allowed + " or the end of the line");
}

}  // namespace workloads::script
