// One frame of each kind with every field set, for golden bytes and as seeds for fuzzing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stallscope/v1/frame.pb.h"

namespace stallscope::golden {

// Name and frame, in an order that one process could send: hello, names, then the rest.
std::vector<std::pair<std::string, v1::Frame>> SampleFrames();

}  // namespace stallscope::golden
