#include "tests/simgpu/core/given_timing.h"

#include <utility>

namespace simgpu {
namespace {

thread_local GivenTiming next_operation;

}  // namespace

thread_local uint64_t thread_clock_ns = 0;

GivenTiming TakeGivenTiming() { return std::exchange(next_operation, {}); }

}  // namespace simgpu

void simgpu_next_duration(uint64_t duration_ns) { simgpu::next_operation.duration_ns = duration_ns; }
void simgpu_next_begin(uint64_t begin_ns) {
  simgpu::next_operation.begin_ns = begin_ns;
  simgpu::next_operation.has_begin = true;
}
void simgpu_set_thread_clock(uint64_t now_ns) { simgpu::thread_clock_ns = now_ns; }
uint64_t simgpu_thread_clock(void) { return simgpu::thread_clock_ns; }
