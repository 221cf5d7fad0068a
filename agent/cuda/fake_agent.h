// Test double of agent/hot and agent/entry for the unit tests of the CUDA side: what would have gone into rings and
// streams lies in vectors, the clock is a number that a test sets. Single thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

struct FakeDevice {
  uint32_t id;
  std::string name;
  uint32_t multiprocessors;
  bool simulated;
  bool mig = false;
  uint32_t gpu_instance = 0, compute_instance = 0;
};

struct FakeAgent {
  std::vector<RecordFields> records;
  std::vector<uint64_t> counters = std::vector<uint64_t>(static_cast<size_t>(wire::Counter::kCount));
  std::vector<std::string> strings;  // id 1 is strings[0]
  std::vector<FakeDevice> devices;
  std::vector<ReportedContext> contexts;
  std::map<std::pair<uint32_t, uint64_t>, std::string> names;  // by kind and value
  std::map<uint32_t, std::string> call_names;                  // domain << 16 | id
  std::vector<uint32_t> states;
  std::map<std::string, void*> symbols;  // what ResolveNext finds
  uint64_t ticks = 1000;
  uint64_t ticks_per_reading = 1;  // the clock moves at each reading
  uint64_t wait_threshold_ticks = 1000;
  bool recording = true;
  SavedWait current_wait;

  uint64_t CountOf(wire::Counter counter) const { return counters[static_cast<size_t>(counter)]; }
};

// A fresh one for each test.
FakeAgent& Fake();
void ResetFake();

}  // namespace stallscope::agent
