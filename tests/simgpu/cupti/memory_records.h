// MEMORY2 and MEMORY_POOL records: read off the parameters of allocating and freeing calls as they return.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_MEMORY_RECORDS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_MEMORY_RECORDS_H_

#include "tests/simgpu/core/trace.h"

namespace simgpu::cupti {

// Any thread, at the end of `call`. Driver calls inside runtime calls say nothing new and are left out.
void WriteMemoryRecords(const ApiCall& call);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_MEMORY_RECORDS_H_
