// Unified memory counter records: page faults of kernels, as many as the key managed_faults says, once the program has
// allocated managed memory while MEMORY2 records or unified memory counters were on.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_UNIFIED_MEMORY_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_UNIFIED_MEMORY_H_

#include <cstdint>

#include "tests/simgpu/core/trace.h"

namespace simgpu::cupti {

class Client;

void NoteManagedMemory(uint64_t address);
// Any thread, as a kernel is enqueued.
void WritePageFaults(Client* client, const Operation& operation);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_UNIFIED_MEMORY_H_
