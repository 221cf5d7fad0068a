#include "agent/cupti/record_sizes.h"

namespace stallscope::agent {

RecordSizes ProbeRecordSizes(const RecordParser& parser) noexcept {
  // A record of the kind under test, then kernel kinds wherever the next record may begin: the parser's second answer
  // is where the first record ends.
  constexpr uint32_t kWords = 512;
  alignas(8) uint32_t words[kWords];
  RecordSizes sizes;
  for (uint32_t kind = 1; kind < RecordSizes::kKinds; ++kind) {
    for (uint32_t& word : words) word = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    words[0] = kind;
    auto* buffer = reinterpret_cast<uint8_t*>(words);
    CUpti_Activity* record = nullptr;
    if (parser.Next(buffer, sizeof(words), &record) != CUPTI_SUCCESS) continue;
    if (parser.Next(buffer, sizeof(words), &record) != CUPTI_SUCCESS) continue;
    const auto* second = reinterpret_cast<const uint8_t*>(record);
    if (second > buffer && second < buffer + sizeof(words)) sizes.bytes[kind] = static_cast<uint16_t>(second - buffer);
  }
  return sizes;
}

}  // namespace stallscope::agent
