// Test double of a collector: listens on a unix socket, runs one program under the agent, and keeps what arrives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stallscope::agent {

struct ReceivedCall {
  uint32_t call_class, domain, correlation_id, flags;
  int32_t result;
  uint64_t begin_ns, argument, stream;  // handles as their values
  std::string name;
};
struct ReceivedOp {
  uint32_t kind, correlation_id, graph;
  uint64_t begin_ns, duration_ns, argument;
  std::string name;
};
struct Received {
  int exit_code = -1;
  std::string output;
  std::vector<ReceivedCall> calls;
  std::vector<ReceivedOp> ops;
  std::vector<uint32_t> states;
  std::vector<std::string> state_texts;
  std::vector<uint64_t> state_times_ns;
  std::vector<uint64_t> counters;
  uint32_t cost_ppm = 0, cost_limit_ppm = 0, callback_ns = 0;  // the governor's last word
  bool device_is_simulated = false, goodbye = false;
  uint64_t lost = 0;
};

// What the collector asks of the agent, so long after the first connection.
struct Order {
  int after_ms = 0;
  int level = -1;  // wire::Level; -1: not asked for
  bool detach = false;
};

// Runs build/bin/<program> with the agent preloaded on the simulated GPU, with more variables ("NAME=value") if given.
Received RunUnderAgent(const std::vector<std::string>& command, const std::vector<std::string>& variables = {},
                       std::vector<Order> orders = {});

}  // namespace stallscope::agent
