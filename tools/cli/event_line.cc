#include "tools/cli/event_line.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/tui/number_text.h"
#include "tools/tui/styled_text.h"

namespace stallscope::cli {

using tui::OneLine;

EventLine::EventLine(std::string_view kind, uint32_t pid, HostNs begin, HostNs end)
    : kind_(kind), pid_(pid), begin_(begin), end_(end) {}

EventLine& EventLine::Thread(uint32_t tid, std::string_view name) {
  tid_ = tid;
  thread_name_ = name;
  return *this;
}

EventLine& EventLine::Name(std::string_view name) {
  name_ = name;
  return *this;
}

EventLine& EventLine::Number(std::string_view member, int64_t value) {
  members_.push_back({std::string(member), true, false, value, ""});
  return *this;
}

EventLine& EventLine::Handle(std::string_view member, uint64_t value) {
  members_.push_back({std::string(member), false, true, 0, absl::StrFormat("0x%x", value)});
  return *this;
}

EventLine& EventLine::Word(std::string_view member, std::string_view value) {
  members_.push_back({std::string(member), false, false, 0, std::string(value)});
  return *this;
}

EventLine& EventLine::List(std::string_view member, std::vector<std::string> values, std::string text) {
  members_.push_back({std::string(member), false, false, 0, std::move(text), std::move(values)});
  return *this;
}

std::string EventLine::Text() const {
  std::string line = absl::StrFormat("%6d.%09d  %d", begin_ / 1'000'000'000, begin_ % 1'000'000'000, pid_);
  if (tid_ != 0) absl::StrAppend(&line, "/", tid_);
  if (!thread_name_.empty()) absl::StrAppend(&line, " ", OneLine(thread_name_));
  absl::StrAppend(&line, "  ", kind_);
  if (!name_.empty()) absl::StrAppend(&line, "  ", OneLine(name_));
  if (end_ > begin_) absl::StrAppend(&line, "  ", tui::Duration(end_ - begin_));
  for (const Member& member : members_) {
    absl::StrAppend(&line, "  ", member.name, "=");
    if (member.is_number) {
      absl::StrAppend(&line, member.number);
    } else {
      absl::StrAppend(&line, OneLine(member.text));
    }
  }
  return line;
}

std::string EventLine::Json() const {
  nlohmann::ordered_json object;
  object["kind"] = kind_;
  object["pid"] = pid_;
  object["begin_ns"] = begin_;
  object["end_ns"] = end_;
  if (tid_ != 0) object["tid"] = tid_;
  if (!thread_name_.empty()) object["thread"] = thread_name_;
  if (!name_.empty()) object["name"] = name_;
  for (const Member& member : members_) {
    if (member.is_number) {
      object[member.name] = member.number;
    } else if (!member.list.empty()) {
      object[member.name] = member.list;
    } else {
      object[member.name] = member.text;
    }
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stallscope::cli
