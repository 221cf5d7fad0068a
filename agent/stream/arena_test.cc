#include "agent/stream/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "agent/hot/test_memory.h"
#include "agent/stream/batch_encoder.h"

namespace stallscope::agent {
namespace {

TEST(Arena, UnmapArrayTwice_LeavesTheProgramsMemoryAlone) {
  constexpr uint64_t kBytes = 1 << 16;
  auto* array = MapArray<uint8_t>(kBytes);
  ASSERT_NE(array, nullptr);
  uint8_t* const place = array;
  UnmapArray(array, kBytes);
  void* programs =
      mmap(place, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(programs, place);
  UnmapArray(array, kBytes);
  EXPECT_EQ(msync(programs, kBytes, MS_ASYNC), 0) << "no longer mapped";
  munmap(programs, kBytes);
}

TEST(Arena, EncoderDestroyedTwice_CanBeCreatedAgain) {
  TestMemory memory;
  BatchEncoder encoder;
  ASSERT_TRUE(encoder.Create());
  encoder.Destroy();
  encoder.Destroy();
  ASSERT_TRUE(encoder.Create());
  encoder.ForgetIntroductions();
  encoder.Destroy();
}

}  // namespace
}  // namespace stallscope::agent
