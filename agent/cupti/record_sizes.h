// How long the activity records of the loaded libcupti are, and the walk from one to the next.
//
// The layout of a record depends on the library that wrote it alone (11.8, 12.x and 13.x differ). Within the versions
// that matter fields are only added at the end, so a field is there when it lies within the record's length. The length
// is found by asking the library's own parser, which works without a driver.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace stallscope::agent {

// The parser of the library that fills the buffers, in whichever of its two interfaces is in use.
class RecordParser {
 public:
  using ForProcess = CUptiResult (*)(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);
  using ForSubscriber = CUptiResult (*)(CUpti_SubscriberHandle subscriber, uint8_t* buffer, size_t valid_bytes,
                                        CUpti_Activity** record);

  constexpr RecordParser() = default;
  constexpr RecordParser(ForProcess next) : for_process_(next) {}  // NOLINT(google-explicit-constructor)
  RecordParser(ForSubscriber next, CUpti_SubscriberHandle subscriber)
      : for_subscriber_(next), subscriber_(subscriber) {}

  CUptiResult Next(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) const {
    return for_subscriber_ != nullptr ? for_subscriber_(subscriber_, buffer, valid_bytes, record)
                                      : for_process_(buffer, valid_bytes, record);
  }

  bool operator==(const RecordParser&) const = default;

 private:
  ForProcess for_process_ = nullptr;
  ForSubscriber for_subscriber_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

struct RecordSizes {
  static constexpr uint32_t kKinds = 64;
  uint16_t bytes[kKinds] = {};  // 0: the library does not know the kind

  uint32_t Of(uint32_t kind) const { return kind < kKinds ? bytes[kind] : 0; }
};

RecordSizes ProbeRecordSizes(const RecordParser& parser) noexcept;

}  // namespace stallscope::agent
