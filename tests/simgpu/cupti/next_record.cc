#include "tests/simgpu/cupti/next_record.h"

#include <cstring>

namespace simgpu::cupti {

CUptiResult NextRecord(const Layout& layout, uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  size_t offset = 0;
  uint32_t kind = 0;
  if (*record != nullptr) {
    offset = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer);
    std::memcpy(&kind, buffer + offset, sizeof kind);
    const size_t bytes = layout.RecordBytes(kind);
    if (bytes == 0) return static_cast<CUptiResult>(layout.invalid_kind_result);
    offset += bytes;
  }
  // The real one reads the kind even where only a part of it is valid.
  if (offset >= valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&kind, buffer + offset, sizeof kind);
  const size_t bytes = layout.RecordBytes(kind);
  if (bytes == 0) return static_cast<CUptiResult>(layout.invalid_kind_result);
  if (offset + bytes > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + offset);
  return CUPTI_SUCCESS;
}

}  // namespace simgpu::cupti
