// Faults on demand, each after a public bug: SIMGPU_CUPTI_FAULT=<name>[:<parameter>][,...], read once. What each does and
// what its parameter means: the table in ../README.md. An unknown name is said on stderr and is no fault.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_FAULTS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_FAULTS_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace simgpu::cupti {

enum class Fault : uint8_t {
  kBusy,
  kNoDriver,
  kNoGraphTrace,
  kZeroTimes,
  kReversedTimes,
  kEarlyRecords,
  kAbsurdTimes,
  kClockJump,
  kLostBuffers,
  kLateDelivery,
  kNeverDelivered,
  kWithheldBuffers,
  kEndlessKernel,
  kTakeover,
  kZeroGraphIds,
  kRecycledGraphIds,
  kNullBufferCrash,
  kSlowFlush,
};
inline constexpr int kFaultCount = 18;

struct FaultSet {
  uint32_t bits = 0;
  uint64_t parameters[kFaultCount] = {};

  bool Has(Fault fault) const { return (bits >> static_cast<int>(fault) & 1) != 0; }
  uint64_t Parameter(Fault fault) const { return parameters[static_cast<int>(fault)]; }
};

// Puts one line a mistake into `*complaints`.
FaultSet ParseFaults(const char* text, std::string* complaints);

FaultSet ReadFaults();  // SIMGPU_CUPTI_FAULT; mistakes are said on stderr
inline const FaultSet& ActiveFaults() {
  static const FaultSet faults = ReadFaults();
  return faults;
}
inline bool FaultOn(Fault fault) { return ActiveFaults().Has(fault); }

// True at every n-th call for a fault whose parameter is n; false while the fault is off.
bool FaultStrikes(Fault fault);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_FAULTS_H_
