// A shared memory of its own for each unit test, put into use as agent/entry would.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/entry/shared_memory.h"
#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

class TestMemory {
 public:
  TestMemory() {
    if (g_epoch == &g_no_epoch) {
      EXPECT_TRUE(CreateEpochPage());
    }
    EXPECT_EQ(CreateSharedMemory(MonotonicNs(), &memory_), nullptr);
    StartClock(memory_.header, /*use_tsc=*/false);
    UseSharedMemory(memory_, ++epochs_);
  }
  ~TestMemory() {
    g_epoch->epoch.store(0);
    g_header = &g_no_header;
    g_waiters = g_no_waiters;
    UnmapSharedMemory(memory_);
    close(memory_.fd);
  }
  wire::Header* header() { return memory_.header; }
  int fd() const { return memory_.fd; }
  wire::ThreadSlot* slot(uint32_t index) { return SlotAt(index); }
  // Also for a slot that a forked child has claimed.
  wire::Record* ring(uint32_t index) {
    const uint64_t bytes = uint64_t{header()->ring_records} * sizeof(wire::Record);
    EXPECT_TRUE(OpenSharedMemory(header()->rings_offset + index * bytes, bytes));
    return reinterpret_cast<wire::Record*>(reinterpret_cast<uint8_t*>(header()) + header()->rings_offset) +
           uint64_t{index} * header()->ring_records;
  }

 private:
  static inline uint32_t epochs_ = 0;
  SharedMemory memory_;
};

}  // namespace stallscope::agent
