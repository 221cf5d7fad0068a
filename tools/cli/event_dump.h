// Writes every event of a capture as one line, in order of time.
//
// Events of one thread come in order of their ends and threads interleave, so lines are held back and sorted by begin
// within a window of `kWindowEvents` events. An event that lies further back than that is written where it was found
// and counted. Single thread. Memory: the window, about 40 MB of text.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/symbols/stack_names.h"

namespace stallscope::cli {

enum class DumpFormat { kText, kJson };

class EventDump : public ProcessSink {
 public:
  static constexpr size_t kWindowEvents = 1 << 18;

  // pid 0: every process. `out` is borrowed.
  EventDump(std::ostream* out, DumpFormat format, uint32_t pid, size_t window_events = kWindowEvents);
  ~EventDump() override;

  EventSink* OnProcess(const ProcessInfo& process, const ProcessNames* names) override;

  // Writes what is held back.
  void Finish();

  uint64_t events() const { return events_; }
  uint64_t out_of_order() const { return out_of_order_; }

 private:
  class OneProcess;
  struct Held {
    HostNs at;
    uint64_t number;
    std::string line;
    // std heaps keep the largest first: the earliest event is the largest here.
    bool operator<(const Held& other) const { return at != other.at ? at > other.at : number > other.number; }
  };
  void Hold(HostNs at, std::string line);
  void WriteEarliest();

  StackNames stack_names_;
  std::ostream* out_;
  const DumpFormat format_;
  const uint32_t pid_;
  const size_t window_events_;
  std::vector<std::unique_ptr<EventSink>> processes_;
  std::vector<Held> held_;
  HostNs written_until_ = INT64_MIN;
  uint64_t events_ = 0, out_of_order_ = 0;
};

}  // namespace stallscope::cli
