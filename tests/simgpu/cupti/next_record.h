// The walk through a buffer of records, as measured on the real libraries.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_NEXT_RECORD_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_NEXT_RECORD_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "tests/simgpu/cupti/layout.h"

namespace simgpu::cupti {

// A tail shorter than a record ends the walk with MAX_LIMIT_REACHED, an unknown kind is an error (which one depends
// on the version), and `*record` stays as it is on both.
CUptiResult NextRecord(const Layout& layout, uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_NEXT_RECORD_H_
