// Test input: activity buffers made by hand, in the layout of any CUPTI version, and a parser with that version's
// strides.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "agent/cupti/record_sizes.h"

namespace stallscope::agent {

// Lays records back to back. A record shorter than the struct of the headers is cut, as an older library would have
// written it.
class ActivityBytes {
 public:
  template <typename Record>
  void Add(const Record& record, size_t bytes = sizeof(Record)) {
    const size_t at = bytes_.size();
    bytes_.resize(at + bytes);
    std::memcpy(bytes_.data() + at, &record, bytes < sizeof(Record) ? bytes : sizeof(Record));
  }
  uint8_t* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
};

// The strides of libcupti 13.0, as its own parser has them (record_sizes_test.cc compares where that library is there);
// an older one can be played by changing entries. Tests run one at a time, so one table does.
inline uint16_t g_test_strides[RecordSizes::kKinds];
inline void UseStridesOf130() {
  std::memset(g_test_strides, 0, sizeof(g_test_strides));
  g_test_strides[CUPTI_ACTIVITY_KIND_MEMCPY] = 96;
  g_test_strides[CUPTI_ACTIVITY_KIND_MEMSET] = 88;
  g_test_strides[CUPTI_ACTIVITY_KIND_KERNEL] = 216;
  g_test_strides[CUPTI_ACTIVITY_KIND_DRIVER] = 40;
  g_test_strides[CUPTI_ACTIVITY_KIND_RUNTIME] = 40;
  g_test_strides[CUPTI_ACTIVITY_KIND_DEVICE] = 184;
  g_test_strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = 216;
  g_test_strides[CUPTI_ACTIVITY_KIND_OVERHEAD] = 56;
  g_test_strides[CUPTI_ACTIVITY_KIND_MEMCPY2] = 96;
  g_test_strides[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = 56;
  g_test_strides[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = 56;
  g_test_strides[CUPTI_ACTIVITY_KIND_MARKER] = 56;
}

inline CUptiResult TestNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  const auto kind_at = [](const uint8_t* at) {
    uint32_t kind;
    std::memcpy(&kind, at, sizeof(kind));
    return kind;
  };
  const auto stride = [](uint32_t kind) -> size_t { return kind < RecordSizes::kKinds ? g_test_strides[kind] : 0; };
  uint8_t* at = buffer;
  if (*record != nullptr) {
    at = reinterpret_cast<uint8_t*>(*record);
    at += stride(kind_at(at));
  }
  const size_t left = static_cast<size_t>(buffer + valid_bytes - at);
  if (left < sizeof(uint32_t)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  if (stride(kind_at(at)) == 0) return CUPTI_ERROR_INVALID_KIND;
  if (stride(kind_at(at)) > left) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

}  // namespace stallscope::agent
