// Records of operations that the device has not finished, for one client: withheld until their simulated end has
// passed, since all spans are known when operations are enqueued. Any thread.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_UNFINISHED_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_UNFINISHED_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "tests/simgpu/core/timeline.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {

class ActivityBuffers;

class UnfinishedRecords {
 public:
  explicit UnfinishedRecords(ActivityBuffers* buffers) : buffers_(buffers) {}

  // `record` has fields `start` and `end`, filled in when the record is released; `completed` too where it exists.
  template <typename Record>
  void Add(const Record& record, const Span& span) {
    bool look = false;
    {
      std::lock_guard lock(mutex_);
      Held& held = held_.emplace_back();
      static_assert(sizeof record <= sizeof held.bytes);
      std::memcpy(held.bytes, &record, sizeof record);
      held.start_offset = offsetof(Record, start);
      held.end_offset = offsetof(Record, end);
      held.completed_offset = 0;
      if constexpr (requires { record.completed; }) held.completed_offset = offsetof(Record, completed);
      held.span = span;
      look = AfterAdding(&held);
    }
    if (look) ReleaseFinished();
  }

  // Writes the records of what has ended by now to the buffers.
  void ReleaseFinished();
  // Also the others, with an end of zero: they are never given again.
  void ReleaseAll();

 private:
  struct Held {
    uint16_t start_offset, end_offset, completed_offset;
    Span span;
    alignas(8) uint8_t bytes[sizeof(CUpti_ActivityKernel10)];

    Held() {}  // leaves everything as it is: all of it is written right after
  };

  bool AfterAdding(Held* held);  // true: the finished ones should be released
  static void FillTimes(Held* held, bool finished, const StampScale& scale);
  void Release(uint64_t until_ns, bool also_unfinished);

  ActivityBuffers* const buffers_;
  std::mutex mutex_;          // guards what follows
  std::vector<Held> held_;    // in the order of launches
  std::vector<Held> room_;    // empty; memory for `held_` to grow into
  size_t look_again_at_ = 0;  // records held when the finished ones are next released on a program's thread
};

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_UNFINISHED_H_
