#include "collector/budget/late_steps.h"

#include <algorithm>
#include <utility>

namespace stallscope {

bool LateSteps::Missing(Timeline* timeline, const StepInterval& step, std::vector<uint32_t>* missing) {
  missing->clear();
  for (const auto& [key, launch] : timeline->missing()) {
    if (launch.begin >= step.end) break;
    if (missing->size() == kMaxMissing) return false;
    missing->push_back(launch.correlation);
  }
  return true;
}

void LateSteps::Add(LateStep step) {
  if (steps_.size() == kMaxSteps) steps_.pop_front();
  steps_.push_back(std::move(step));
}

bool LateSteps::TakeComplete(const Timeline& timeline, LateStep* step) {
  for (auto at = steps_.begin(); at != steps_.end(); ++at) {
    std::vector<uint32_t>& missing = at->missing;
    const auto came = [&timeline](uint32_t correlation) {
      const Launch* launch = timeline.launches().Find(correlation);
      return launch != nullptr && launch->records >= launch->expected;
    };
    missing.erase(std::remove_if(missing.begin(), missing.end(), came), missing.end());
    if (!missing.empty()) continue;
    *step = std::move(*at);
    steps_.erase(at);
    return true;
  }
  return false;
}

void LateSteps::ForgetBefore(HostNs at) {
  while (!steps_.empty() && steps_.front().step.end < at) steps_.pop_front();
}

}  // namespace stallscope
