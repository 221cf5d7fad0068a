// A decode step as the segmentation found it: the interval (begin, end] between two deliveries of tokens.
#pragma once

#include <cstdint>

#include "collector/base/event.h"

namespace stallscope {

struct StepInterval {
  HostNs begin = 0, end = 0;
  ThreadIndex thread = 0;  // that received the tokens at `end`
  uint64_t tokens = 0;
  uint32_t copy_correlation = 0;  // of a copy that brought them; 0: not known
};

}  // namespace stallscope
