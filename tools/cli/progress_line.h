// How far a long piece of work is, as one line on a terminal that is overwritten and at last wiped. Nothing is shown of
// work that takes less than half a second. The caller writes the texts; no clock of its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace stallscope::cli {

class ProgressLine {
 public:
  // what: "reading run.stallcap". begin_ns and now_ns: of one clock.
  ProgressLine(std::string what, int64_t begin_ns) : what_(std::move(what)), next_ns_(begin_ns + kQuietNs) {}

  // What to write now; empty: nothing.
  std::string Update(uint64_t done, uint64_t all, int64_t now_ns);
  // What takes the line away again.
  std::string End() const { return shown_ ? "\r\x1b[K" : ""; }

 private:
  static constexpr int64_t kQuietNs = 500'000'000, kBetweenNs = 200'000'000;

  const std::string what_;
  int64_t next_ns_;
  bool shown_ = false;
};

}  // namespace stallscope::cli
