// Open NVTX ranges and what becomes of them: one kRange record when a range ends, or at a mark.
//
// Push/pop ranges live on a small stack of their thread; start/end ranges, which may end on another thread, in a fixed
// table. Ranges beyond those limits are not recorded (Counter::kInternal counts them). No lock, no allocation.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// `domain` and `text` are string ids; domain 0 is NVTX's default domain. `number` is the range's payload.
struct RangeLabel {
  uint32_t domain = 0;
  uint32_t text = 0;
  uint64_t number = 0;
};

void RecordMark(const RangeLabel& label) noexcept;

// The nesting level before the push and after the pop, as NVTX returns them; negative when nothing was open.
int PushRange(const RangeLabel& label) noexcept;
int PopRange(uint32_t domain) noexcept;

// An id that is not 0, or 0 when the table is full.
uint64_t StartRange(const RangeLabel& label) noexcept;
void EndRange(uint64_t id) noexcept;

}  // namespace stallscope::agent
