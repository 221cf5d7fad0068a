#include "tools/tui/number_text.h"

#include <algorithm>
#include <numeric>

namespace stallscope::tui {

std::string Grouped(int64_t value, int decimals) {
  const bool negative = value < 0;
  std::string digits = std::to_string(negative ? -value : value);
  std::string fraction;
  if (decimals > 0) {
    const auto places = static_cast<size_t>(decimals);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    fraction = "." + digits.substr(digits.size() - places);
    digits.resize(digits.size() - places);
  }
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return (negative ? "-" : "") + digits + fraction;
}

std::string Duration(int64_t duration_ns) {
  struct Unit {
    int64_t ns;
    const char* name;
  };
  for (const Unit unit : {Unit{1'000'000'000, " s"}, Unit{1'000'000, " ms"}, Unit{1'000, " us"}}) {
    if (duration_ns < unit.ns) continue;
    // Three significant digits.
    if (duration_ns >= unit.ns * 100) return Grouped((duration_ns + unit.ns / 2) / unit.ns) + unit.name;
    if (duration_ns >= unit.ns * 10) return Grouped((duration_ns + unit.ns / 20) / (unit.ns / 10), 1) + unit.name;
    return Grouped((duration_ns + unit.ns / 200) / (unit.ns / 100), 2) + unit.name;
  }
  return std::to_string(duration_ns) + " ns";
}

std::string Length(int64_t duration_ns) {
  if (duration_ns % 1'000'000'000 == 0) return std::to_string(duration_ns / 1'000'000'000) + " s";
  if (duration_ns % 1'000'000 == 0) return std::to_string(duration_ns / 1'000'000) + " ms";
  return Duration(duration_ns);
}

std::vector<int64_t> ShareOut(const std::vector<int64_t>& parts, int64_t total) {
  std::vector<int64_t> shares(parts.size(), 0);
  const __int128 sum = std::accumulate(parts.begin(), parts.end(), static_cast<__int128>(0));
  if (sum <= 0) return shares;
  std::vector<__int128> remainders(parts.size());
  int64_t left = total;
  for (size_t i = 0; i < parts.size(); ++i) {
    const __int128 exact = static_cast<__int128>(parts[i]) * total;
    shares[i] = static_cast<int64_t>(exact / sum);
    remainders[i] = exact % sum;
    left -= shares[i];
  }
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; i < order.size() && left > 0; ++i, --left) ++shares[order[i]];
  return shares;
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (char c : text) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return columns;
}

std::string Padded(std::string_view text, size_t width) {
  const size_t columns = Columns(text);
  if (columns <= width) return std::string(text) + std::string(width - columns, ' ');
  if (width == 0) return "";
  size_t bytes = 0, seen = 0;
  while (bytes < text.size()) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xc0) != 0x80;
    if (starts && seen++ == width - 1) break;
    ++bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

std::string PaddedLeft(std::string_view text, size_t width) {
  const size_t columns = Columns(text);
  return std::string(columns < width ? width - columns : 0, ' ') + std::string(text);
}

}  // namespace stallscope::tui
