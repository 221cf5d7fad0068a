// Learns which poll set a wake-up descriptor belongs to, where nobody told.
//
// libuv from 1.45 on registers descriptors with its epoll set through io_uring, so no epoll_ctl call is seen and a
// write to an eventfd is no known wake-up of the thread that sleeps in the set. But writes of exactly 8 bytes (an
// eventfd takes no other) that keep falling into waits on one set shortly before they end tell the same. After kBelieve
// such coincidences each further write to the descriptor counts as a wake-up of the set.
//
// Fed with writes and polls of all threads in the order in which they ended. Single thread, bounded memory.
#pragma once

#include <array>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/timeline/call.h"

namespace stallscope {

class PollPartners {
 public:
  static constexpr uint32_t kBelieve = 3;

  static bool IsWakeUpWrite(const Call& call);
  static bool IsPoll(const Call& call);

  // The poll set that the written descriptor belongs to; 0 when not known.
  uint64_t OnWrite(ThreadIndex thread, const Call& call);
  // A poll that ended with something ready and whose waker is not known.
  void OnUnexplainedPoll(ThreadIndex thread, const Call& call);

 private:
  struct Write {
    HostNs begin = INT64_MIN;
    ThreadIndex thread = 0;
    uint64_t descriptor = 0;
  };
  struct Partner {
    uint64_t set = 0;
    uint32_t hits = 0;
  };

  std::array<Write, 64> recent_{};
  size_t next_ = 0;
  absl::flat_hash_map<uint64_t, Partner> partner_of_;  // by descriptor
};

}  // namespace stallscope
