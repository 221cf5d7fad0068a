#include "tests/simgpu/core/given_call.h"

#include <atomic>
#include <utility>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

thread_local uint64_t next_call_ns = 0;
thread_local GivenNodes next_nodes;
thread_local uint64_t last_call_ns = 0;
std::atomic<bool> copies_move{true};

}  // namespace

uint64_t TakeCallDuration(uint64_t modelled_ns) {
  const uint64_t given_ns = std::exchange(next_call_ns, 0);
  return given_ns != 0 ? given_ns : modelled_ns;
}

bool HasCallDuration() { return next_call_ns != 0; }

GivenNodes TakeGivenNodes() { return std::exchange(next_nodes, {}); }

bool CopiesMove() { return copies_move.load(std::memory_order_relaxed); }

void NoteCallDuration(uint64_t duration_ns) { last_call_ns = duration_ns; }

}  // namespace simgpu

void simgpu_next_call_duration(uint64_t duration_ns) {
  simgpu::call_times_are_wanted.store(true, std::memory_order_relaxed);
  simgpu::next_call_ns = duration_ns;
}
void simgpu_next_graph_durations(const uint64_t* durations_ns, size_t count) {
  simgpu::next_nodes = {durations_ns, count};
}
uint64_t simgpu_last_call_duration(void) {
  simgpu::call_times_are_wanted.store(true, std::memory_order_relaxed);
  return simgpu::last_call_ns;
}
uint64_t simgpu_device_end(void) { return simgpu::CurrentDevice()->DeviceEndNs(); }
void simgpu_copies_move(int move) { simgpu::copies_move.store(move != 0, std::memory_order_relaxed); }
