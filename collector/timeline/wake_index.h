// Who let whom go on: wake-ups by the object that the woken thread waited on.
//
// Written by: Timeline. Read by: the walk back. Single thread.
#pragma once

#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

class WakeIndex {
 public:
  struct Wake {
    HostNs at;
    ThreadIndex thread;  // who woke
    uint32_t woken_tid;  // 0: not known
    wire::OsCall call;
    bool foreign = false;   // `thread` belongs to another process: a name and no timeline of this one
    uint32_t member = 0;    // ... which is this one of HostWakes
    ThreadIndex there = 0;  // ... and calls the thread so
  };

  void Add(const WakeEvent& wake);
  // By thread `there` of process `member` of HostWakes; wake.thread is its number here.
  void AddForeign(const WakeEvent& wake, uint32_t member, ThreadIndex there);

  // The wake-up that ended a wait of `waiter` (with kernel id `waiter_tid`) on `object` during [begin, end]; nullptr
  // when none is known. Locks, conditions and semaphores: the last one, since earlier ones were taken by others.
  // `first`: level-triggered waits (poll), which the first one ends.
  const Wake* Find(uint64_t object, HostNs begin, HostNs end, ThreadIndex waiter, uint32_t waiter_tid,
                   bool first) const;

  void DropBefore(HostNs at);
  size_t size() const;

 private:
  void Insert(uint64_t object, const Wake& wake);

  absl::flat_hash_map<uint64_t, std::deque<Wake>> by_object_;  // by time
};

}  // namespace stallscope
