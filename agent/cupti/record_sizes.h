// How long the activity records of the loaded libcupti are.
//
// The layout of a record depends on the library that wrote it alone (11.8, 12.x and 13.x differ). Within the versions
// that matter fields are only added at the end, so a field is there when it lies within the record's length. The length
// is found by asking the library's own parser, which works without a driver.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace stallscope::agent {

using NextRecord = CUptiResult (*)(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);

struct RecordSizes {
  static constexpr uint32_t kKinds = 64;
  uint16_t bytes[kKinds] = {};  // 0: the library does not know the kind

  uint32_t Of(uint32_t kind) const { return kind < kKinds ? bytes[kind] : 0; }
};

RecordSizes ProbeRecordSizes(NextRecord next_record) noexcept;

}  // namespace stallscope::agent
