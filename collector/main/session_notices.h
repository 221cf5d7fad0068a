// What a user must know about one process beside its numbers: CUPTI taken, agent turned off, records lost. Single
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/base/event.h"

namespace stallscope::v1 {
class Health;
class State;
}  // namespace stallscope::v1

namespace stallscope {

class SessionNotices {
 public:
  void OnState(const v1::State& state, const std::string& process);
  void OnHealth(const v1::Health& health);
  // A cause has one line; a new one replaces the old.
  void Set(const std::string& cause, std::string line) { lines_[cause] = std::move(line); }

  std::vector<std::string> Lines() const;

 private:
  void MarkInterval(uint64_t until_ns);  // CUPTI came back

  uint64_t taken_at_ns_ = 0;  // 0: CUPTI is not in other hands
  uint64_t away_ns_ = 0, times_away_ = 0;
  std::string taken_by_;
  std::map<std::string, std::string> lines_;  // by cause
};

}  // namespace stallscope
