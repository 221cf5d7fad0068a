// The clock of activity records: CLOCK_REALTIME, or the client's timestamp callback once it has registered one.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_STAMP_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_STAMP_H_

#include <cstdint>

namespace simgpu::cupti {

using TimestampCallback = uint64_t (*)();

void SetTimestampCallback(TimestampCallback callback);
uint64_t StampNow();
// How simulated moments become stamps: a line through readings of both clocks that are taken again now and then.
struct StampScale {
  uint64_t base_ns, stamp_ns;
  double rate;
  uint64_t Of(uint64_t simulated_ns) const;
};
StampScale CurrentScale();
uint64_t StampOf(uint64_t simulated_ns);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_STAMP_H_
