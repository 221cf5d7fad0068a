#include "tests/simgpu/cupti/faults.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace simgpu::cupti {
namespace {

struct FaultName {
  std::string_view name;
  Fault fault;
  uint64_t default_parameter;
};
constexpr FaultName kNames[] = {
    {"busy", Fault::kBusy, 0},
    {"second_subscriber", Fault::kBusy, 0},
    {"no_driver", Fault::kNoDriver, 0},
    {"no_graph_trace", Fault::kNoGraphTrace, 0},
    {"zero_times", Fault::kZeroTimes, 1},
    {"reversed_times", Fault::kReversedTimes, 1},
    {"early_records", Fault::kEarlyRecords, 1'000'000},
    {"absurd_times", Fault::kAbsurdTimes, 1},
    {"clock_jump", Fault::kClockJump, 1000},
    {"lost_buffers", Fault::kLostBuffers, 2},
    {"late_delivery", Fault::kLateDelivery, 3},
    {"never_delivered", Fault::kNeverDelivered, 2},
    {"withheld_buffers", Fault::kWithheldBuffers, 0},
    {"endless_kernel", Fault::kEndlessKernel, 1},
    {"takeover", Fault::kTakeover, 1000},
    {"zero_graph_ids", Fault::kZeroGraphIds, 0},
    {"recycled_graph_ids", Fault::kRecycledGraphIds, 2},
    {"null_buffer_crash", Fault::kNullBufferCrash, 0},
    {"slow_flush", Fault::kSlowFlush, 3000},
};

void ApplyFault(std::string_view text, FaultSet* faults, std::string* complaints) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const FaultName& known : kNames) {
    if (name != known.name) continue;
    uint64_t parameter = known.default_parameter;
    if (colon != std::string_view::npos) {
      const std::string_view number = text.substr(colon + 1);
      const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), parameter);
      if (code != std::errc() || end != number.data() + number.size() || parameter == 0) {
        *complaints += "simgpu: SIMGPU_CUPTI_FAULT: bad number in " + std::string(text) + "\n";
        return;
      }
    }
    faults->bits |= 1u << static_cast<int>(known.fault);
    faults->parameters[static_cast<int>(known.fault)] = parameter;
    return;
  }
  *complaints += "simgpu: SIMGPU_CUPTI_FAULT: " + std::string(name) + " is not a fault; known are";
  for (const FaultName& known : kNames) *complaints += " " + std::string(known.name);
  *complaints += "\n";
}

}  // namespace

FaultSet ParseFaults(const char* text, std::string* complaints) {
  FaultSet faults;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (comma != 0) ApplyFault(rest.substr(0, comma), &faults, complaints);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return faults;
}

FaultSet ReadFaults() {
  std::string complaints;
  const FaultSet faults = ParseFaults(std::getenv("SIMGPU_CUPTI_FAULT"), &complaints);
  std::fputs(complaints.c_str(), stderr);
  return faults;
}

bool FaultStrikes(Fault fault) {
  if (!FaultOn(fault)) return false;
  static std::atomic<uint64_t> calls[kFaultCount];
  const uint64_t call = calls[static_cast<int>(fault)].fetch_add(1, std::memory_order_relaxed) + 1;
  return call % ActiveFaults().Parameter(fault) == 0;
}

}  // namespace simgpu::cupti
