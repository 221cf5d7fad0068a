// How long a record of each kind is, and the walk through a buffer: both as measured on libcupti 13.0 update 1.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_NEXT_RECORD_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_NEXT_RECORD_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace simgpu::cupti {

// 0: no such kind.
size_t RecordBytes(uint32_t kind);

// The real walk: a tail shorter than a record ends it with MAX_LIMIT_REACHED, an unknown kind is INVALID_KIND, and
// `*record` stays as it is on both.
CUptiResult NextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_NEXT_RECORD_H_
