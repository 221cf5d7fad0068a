#include "tests/simgpu/cupti/faults.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace simgpu::cupti {

Fault ParseFault(const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  if (text.empty()) return Fault::kNone;
  if (text == "busy") return Fault::kBusy;
  if (text == "no_driver") return Fault::kNoDriver;
  if (text == "zero_times") return Fault::kZeroTimes;
  if (text == "no_graph_trace") return Fault::kNoGraphTrace;
  std::fprintf(stderr, "simgpu: SIMGPU_CUPTI_FAULT=%s is not a fault (busy, no_driver, zero_times, no_graph_trace)\n",
               name);
  return Fault::kNone;
}

Fault ActiveFault() {
  static const Fault fault = ParseFault(std::getenv("SIMGPU_CUPTI_FAULT"));
  return fault;
}

}  // namespace simgpu::cupti
