#include "collector/tables/table_format.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace stallscope {
namespace {

constexpr size_t kColumns = 9;
using Cells = std::array<std::string, kColumns>;

std::string Tenths(int64_t tenths) { return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10); }

Cells ColumnNames(const SummaryInfo& summary) {
  return {"Time (%)", "Total Time (ns)", std::string(summary.count_column), "Avg (ns)", "Med (ns)", "Min (ns)",
          "Max (ns)", "StdDev (ns)",     std::string(summary.name_column)};
}

Cells RowCells(const DurationRow& row) {
  return {Tenths(row.share_tenths_percent), std::to_string(row.total_ns),    std::to_string(row.count),
          Tenths(row.average_tenths_ns),    Tenths(row.median_tenths_ns),    std::to_string(row.min_ns),
          std::to_string(row.max_ns),       Tenths(row.deviation_tenths_ns), row.key};
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Puts ',' between groups of three digits of the integer part.
std::string Grouped(const std::string& number) {
  std::string grouped = number;
  const size_t point = std::min(grouped.find('.'), grouped.size());
  for (size_t at = point; at > 3; at -= 3) grouped.insert(at - 3, ",");
  return grouped;
}

constexpr size_t kLongestName = 120;  // of the text form

// A name comes from the program and may hold anything: a row stays one line and does not steer the terminal. Cut between
// characters of UTF-8.
std::string NameCell(const std::string& name) {
  std::string cell = name;
  for (char& c : cell) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (cell.size() <= kLongestName) return cell;
  size_t end = kLongestName - 3;
  while (end > 0 && (static_cast<unsigned char>(cell[end]) & 0xc0) == 0x80) --end;
  return cell.substr(0, end) + "...";
}

}  // namespace

std::string FormatCsv(const SummaryInfo& summary, const std::vector<DurationRow>& rows) {
  std::string text;
  auto append = [&text](const Cells& cells) {
    for (size_t i = 0; i < kColumns; ++i) {
      if (i != 0) text += ',';
      text += Quoted(cells[i]);
    }
    text += '\n';
  };
  append(ColumnNames(summary));
  for (const DurationRow& row : rows) append(RowCells(row));
  return text;
}

std::string FormatText(const SummaryInfo& summary, const std::vector<DurationRow>& rows) {
  std::vector<Cells> lines = {ColumnNames(summary)};
  for (const DurationRow& row : rows) {
    Cells cells = RowCells(row);
    for (size_t i = 0; i + 1 < kColumns; ++i) cells[i] = Grouped(cells[i]);
    cells.back() = NameCell(cells.back());
    lines.push_back(std::move(cells));
  }
  std::array<size_t, kColumns> width{};
  for (const Cells& cells : lines) {
    for (size_t i = 0; i < kColumns; ++i) width[i] = std::max(width[i], cells[i].size());
  }

  std::string text = " ** " + std::string(summary.title) + " (" + std::string(summary.name) + "):\n\n";
  for (size_t line = 0; line < lines.size(); ++line) {
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string& cell = lines[line][i];
      if (i + 1 < kColumns) {
        text += ' ' + std::string(width[i] - cell.size(), ' ') + cell + ' ';
      } else {
        text += ' ' + cell;
      }
    }
    text += '\n';
    if (line == 0) {
      for (size_t i = 0; i < kColumns; ++i) text += ' ' + std::string(width[i], '-') + (i + 1 < kColumns ? " " : "\n");
    }
  }
  return text + '\n';
}

std::string FormatJson(const SummaryInfo& summary, const std::vector<DurationRow>& rows) {
  const Cells names = ColumnNames(summary);
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const DurationRow& row : rows) {
    nlohmann::ordered_json object;
    object[names[0]] = static_cast<double>(row.share_tenths_percent) / 10;
    object[names[1]] = row.total_ns;
    object[names[2]] = row.count;
    object[names[3]] = static_cast<double>(row.average_tenths_ns) / 10;
    object[names[4]] = static_cast<double>(row.median_tenths_ns) / 10;
    object[names[5]] = row.min_ns;
    object[names[6]] = row.max_ns;
    object[names[7]] = static_cast<double>(row.deviation_tenths_ns) / 10;
    object[names[8]] = row.key;
    table.push_back(std::move(object));
  }
  // A kernel's name is the program's own bytes; what is not UTF-8 in it must not stop the report.
  return table.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stallscope
