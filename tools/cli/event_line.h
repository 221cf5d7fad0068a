// One event as one line: words for people, or a JSON object for scripts. Both are built from the same members in the
// same order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/base/event.h"

namespace stallscope::cli {

class EventLine {
 public:
  // kind: "wait", "wake", "cuda", "gpu", ...
  EventLine(std::string_view kind, uint32_t pid, HostNs begin, HostNs end);

  EventLine& Thread(uint32_t tid, std::string_view name);
  EventLine& Name(std::string_view name);  // the call, kernel, range
  EventLine& Number(std::string_view member, int64_t value);
  EventLine& NumberIfSet(std::string_view member, int64_t value) { return value == 0 ? *this : Number(member, value); }
  EventLine& Handle(std::string_view member, uint64_t value);  // hexadecimal in text
  EventLine& Word(std::string_view member, std::string_view value);
  // An array for scripts, `text` for people.
  EventLine& List(std::string_view member, std::vector<std::string> values, std::string text);

  // "  12.345678901  41822/41901 Sampler  wait  pthread_mutex_lock  12.3 us  object=0x7f..."
  std::string Text() const;
  // {"kind":"wait","pid":41822,"begin_ns":...,"end_ns":...,"tid":...,"name":...}
  std::string Json() const;

 private:
  struct Member {
    std::string name;
    bool is_number, is_handle;
    int64_t number;
    std::string text;
    std::vector<std::string> list;
  };
  std::string kind_, name_, thread_name_;
  uint32_t pid_, tid_ = 0;
  HostNs begin_, end_;
  std::vector<Member> members_;
};

}  // namespace stallscope::cli
