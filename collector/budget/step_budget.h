// The result of attributing one step.
#pragma once

#include <cstdint>

#include "collector/base/line.h"
#include "collector/windows/line_notes.h"

namespace stallscope {

struct StepBudget {
  LineSums lines{};  // sum to the step's length exactly
  LineSums hidden{};
  LineNotes notes{};
  bool late = false;             // closed without some of its GPU records
  uint32_t exhausted_walks = 0;  // walks back that were given up: too many hops, or in a circle
  uint32_t unmatched_ops = 0;    // operations that end a gap and whose launching call is not known
};

}  // namespace stallscope
