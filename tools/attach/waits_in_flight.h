// Which threads of a process wait, and in what, from /proc.
#pragma once

#include <map>
#include <vector>

#include "tools/attach/injection.h"

namespace stallscope::attach {

using ParkedThreads = std::map<int, ParkedCall>;  // by tid

// Those that wait in a system call at this moment. The agent's own threads are left out.
ParkedThreads FindParked(int pid);

// Those of `before` that have stood in the same call ever since.
std::vector<WaitInFlight> DescribeStillParked(int pid, const ParkedThreads& before);

}  // namespace stallscope::attach
