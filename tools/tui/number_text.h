// Numbers as people read them: thousands separated, columns that add up to what stands under them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::tui {

// 1234567 with 1 decimal -> "123,456.7" (value is in units of the last decimal).
std::string Grouped(int64_t value, int decimals = 0);

// 2310000000 -> "2.31 s"; 16400000 -> "16.4 ms"; 812 -> "812 ns".
std::string Duration(int64_t duration_ns);

// 10000000000 -> "10 s", 500000000 -> "500 ms": a length that was chosen, not measured.
std::string Length(int64_t duration_ns);

// Shares `total` out in proportion to `parts` (not negative) as integers that sum to `total` exactly: the largest
// remainders are rounded up. All zero when the parts are.
std::vector<int64_t> ShareOut(const std::vector<int64_t>& parts, int64_t total);

// Cuts or pads to `width` columns. UTF-8; a cut text ends in "…".
std::string Padded(std::string_view text, size_t width);
std::string PaddedLeft(std::string_view text, size_t width);
size_t Columns(std::string_view text);

}  // namespace stallscope::tui
