// Faults on demand, each after a public bug: SIMGPU_CUPTI_FAULT=<name>, read once.
//   busy        another tool ("nsys") is subscribed: subscribing fails with error 39
//   no_driver   subscribing and enabling fail with error 999, as libcupti does without a driver
//   zero_times  GPU records come without start and end, as with an exhausted device buffer
//   no_graph_trace  graph records cannot be enabled, as with a driver before 515
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_FAULTS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_FAULTS_H_

#include <cstdint>

namespace simgpu::cupti {

enum class Fault : uint8_t { kNone, kBusy, kNoDriver, kZeroTimes, kNoGraphTrace };

// An unknown name is said on stderr once and is no fault.
Fault ParseFault(const char* name);
Fault ActiveFault();

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_FAULTS_H_
