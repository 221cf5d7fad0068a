#include "tests/simgpu/cupti/next_record.h"

#include <cstring>

namespace simgpu::cupti {
namespace {

struct KindBytes {
  uint8_t kind;
  uint8_t bytes;
};
// Strides of libcupti 13.0u1 by kind. Kinds that are not listed are invalid to its parser.
constexpr KindBytes kBytes[] = {
    {1, 96},   {2, 88},   {3, 216},  {4, 40},  {5, 40},  {8, 184}, {9, 32},   {10, 216}, {11, 32}, {12, 56},
    {13, 40},  {17, 56},  {18, 144}, {19, 40}, {20, 40}, {22, 96}, {25, 104}, {26, 32},  {27, 24}, {28, 24},
    {33, 152}, {34, 152}, {35, 120}, {36, 56}, {37, 24}, {38, 56}, {39, 24},  {40, 136}, {45, 80}, {46, 168},
    {47, 40},  {48, 40},  {49, 128}, {50, 80}, {51, 56}, {52, 72}, {53, 56},  {54, 64},  {55, 32},
};
constexpr uint32_t kKinds = 64;

struct Table {
  uint8_t bytes[kKinds] = {};
  constexpr Table() {
    for (const KindBytes& entry : kBytes) bytes[entry.kind] = entry.bytes;
  }
};
constexpr Table kTable;

static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] == sizeof(CUpti_ActivityKernel10));
static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_MEMCPY] == sizeof(CUpti_ActivityMemcpy6));
static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_MEMSET] == sizeof(CUpti_ActivityMemset4));
static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_RUNTIME] == sizeof(CUpti_ActivityAPI));
static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] == sizeof(CUpti_ActivityGraphTrace2));
static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] == sizeof(CUpti_ActivitySynchronization2));
static_assert(kTable.bytes[CUPTI_ACTIVITY_KIND_DEVICE] == sizeof(CUpti_ActivityDevice5));

}  // namespace

size_t RecordBytes(uint32_t kind) { return kind < kKinds ? kTable.bytes[kind] : 0; }

CUptiResult NextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  size_t offset = 0;
  uint32_t kind = 0;
  if (*record != nullptr) {
    offset = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer);
    std::memcpy(&kind, buffer + offset, sizeof kind);
    const size_t bytes = RecordBytes(kind);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    offset += bytes;
  }
  // The real one reads the kind even where only a part of it is valid.
  if (offset >= valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&kind, buffer + offset, sizeof kind);
  const size_t bytes = RecordBytes(kind);
  if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
  if (offset + bytes > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + offset);
  return CUPTI_SUCCESS;
}

}  // namespace simgpu::cupti
