// Where in a step the GPU may have worked although its records are missing.
#pragma once

#include <vector>

#include "collector/steps/step_interval.h"
#include "collector/timeline/timeline.h"

namespace stallscope {

// Sorted and disjoint, within the step; empty when nothing that concerns the step is missing. The work of a missing
// launch ran somewhere between its launch and the next thing that is known to come after it in its stream.
//
// Steps must come in order: a missing launch that can concern no later step is taken out of the timeline. The cost is
// that of the step's own calls and of the launches whose end is not known, of which so many as matter are kept.
void FindUnknownLate(Timeline* timeline, const StepInterval& step, std::vector<TimeSpan>* spans);

}  // namespace stallscope
