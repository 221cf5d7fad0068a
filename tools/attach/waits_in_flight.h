// Which threads of a process wait, and in what, from /proc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collector/main/parked_call.h"

namespace stallscope::attach {

using ParkedThreads = std::map<int, ParkedCall>;  // by tid

// A thread that waited before the agent was there, and does still: the agent sees it when it calls the next time.
struct WaitInFlight {
  int tid = 0;
  std::string thread_name;
  std::string call;    // name of the system call
  std::string object;  // what the descriptor leads to, or the futex's address; may be empty
};

// Those that wait in a system call at this moment. The agent's own threads are left out.
ParkedThreads FindParked(int pid);

// The name that the thread has given itself; empty: it is gone.
std::string ThreadNameOf(int pid, int tid);

// Those of `before` that have stood in the same call ever since.
std::vector<WaitInFlight> DescribeStillParked(int pid, const ParkedThreads& before);

}  // namespace stallscope::attach
