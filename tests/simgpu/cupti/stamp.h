// The clock of activity records: CLOCK_REALTIME, or the client's timestamp callback once it has registered one.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_STAMP_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_STAMP_H_

#include <cstdint>

namespace simgpu::cupti {

using TimestampCallback = uint64_t (*)();

void SetTimestampCallback(TimestampCallback callback);
uint64_t StampNow();
// The stamp of a simulated moment, through an offset between the clocks that is measured again now and then.
uint64_t StampOf(uint64_t simulated_ns);
// What StampOf adds, for many moments at once.
uint64_t StampOffsetNs();

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_STAMP_H_
