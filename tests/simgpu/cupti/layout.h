// Record layouts of CUDA versions: how long a record of each kind is, and which fields it has.
//
// The hooks build records as the newest headers have them. CUPTI only ever appended fields and turned paddings into
// fields (layout_table.inc, checked against the headers), so an older record is the beginning of the newest one with the
// later fields zeroed. Which version: the key `cupti_layout`, else the one that belongs to the library's name.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_LAYOUT_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace simgpu::cupti {

inline constexpr uint32_t kKinds = 64;

struct Layout {
  const char* cuda_version;         // "12.4"
  uint32_t api_version;             // what cuptiGetVersion says
  uint16_t record_bytes[kKinds];    // 0: the parser calls the kind invalid
  bool per_thread_buffers_default;  // of the attribute for one buffer a thread
  int invalid_kind_result;          // the parser's answer to a kind it does not know: 999 up to 12.0, 21 later

  size_t RecordBytes(uint32_t kind) const { return kind < kKinds ? record_bytes[kind] : 0; }
  // Writes the newest form of a record as this version has it; `to` has room for RecordBytes(kind).
  void Convert(uint32_t kind, const void* newest, uint8_t* to) const;

  struct Hole {
    uint16_t kind, offset, bytes;
  };
  Hole holes[8];  // bytes of later fields that lie inside this version's record
  uint32_t hole_count;
};

// Null: no such version.
const Layout* FindLayout(std::string_view cuda_version);
// The layout of this process, chosen at the first call. An unknown version is said on stderr and the library's own used.
const Layout& ActiveLayout();

// The version that belongs to this library's name, compiled into each drop-in.
extern const char* const kLibraryCudaVersion;

// One field of a record, for tests that compare field by field.
struct Field {
  const char* kind;
  const char* name;
  uint16_t offset, bytes;
  uint8_t first, last;  // versions, as indices into kVersions
};
inline constexpr const char* kVersions[] = {"11.8", "12.0", "12.4", "12.6", "12.8", "12.9", "13.0"};
inline constexpr int kVersionCount = 7;
extern const Field kFields[];
extern const size_t kFieldCount;
// The kinds that have the structure named in a Field; ends with 0.
const uint32_t* KindsOf(std::string_view structure);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_LAYOUT_H_
