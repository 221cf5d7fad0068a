#include "tests/simgpu/core/memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace simgpu {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

TEST(Memory, MoreThanTheCapacity_IsRefused) {
  Memory memory(kGib);
  EXPECT_EQ(memory.AllocateDevice(kGib + 1), nullptr);
  EXPECT_NE(memory.AllocateDevice(kGib), nullptr);
  EXPECT_EQ(memory.AllocateDevice(1), nullptr);
}

TEST(Memory, FreedMemory_ComesBackZeroedAndCounts) {
  Memory memory(kGib);
  auto* bytes = static_cast<char*>(memory.AllocateDevice(1 << 20));
  std::memset(bytes, 1, 1 << 20);
  EXPECT_EQ(memory.FreeBytes(), kGib - (1 << 20));
  EXPECT_TRUE(memory.FreeDevice(bytes));
  EXPECT_FALSE(memory.FreeDevice(bytes));
  EXPECT_EQ(memory.FreeBytes(), kGib);
  auto* again = static_cast<char*>(memory.AllocateDevice(1 << 20));
  EXPECT_EQ(again, bytes);
  EXPECT_EQ(again[12345], 0);
}

TEST(Memory, KindOf_TellsTheFourKindsApart) {
  Memory memory(kGib);
  int local = 0;
  char* device = static_cast<char*>(memory.AllocateDevice(100));
  char* managed = static_cast<char*>(memory.AllocateManaged(100));
  char* pinned = static_cast<char*>(memory.AllocatePinned(100));
  EXPECT_EQ(memory.KindOf(device + 99), MemoryKind::kDevice);
  EXPECT_EQ(memory.KindOf(managed), MemoryKind::kManaged);
  EXPECT_EQ(memory.KindOf(pinned + 99), MemoryKind::kPinned);
  EXPECT_EQ(memory.KindOf(&local), MemoryKind::kPageable);
}

TEST(Memory, RegisteredTwice_IsRefused) {
  Memory memory(kGib);
  static char bytes[8192];
  EXPECT_TRUE(memory.RegisterPinned(bytes, 4096));
  EXPECT_FALSE(memory.RegisterPinned(bytes + 100, 4096));
  EXPECT_EQ(memory.KindOf(bytes + 4095), MemoryKind::kPinned);
  EXPECT_TRUE(memory.UnregisterPinned(bytes));
  EXPECT_FALSE(memory.UnregisterPinned(bytes));
}

TEST(AddressRange, FreeingTheMiddleLast_MergesAllThree) {
  AddressRange range(1 << 20);
  void* a = range.Allocate(4096, 512);
  void* b = range.Allocate(4096, 512);
  void* c = range.Allocate((1 << 20) - 8192, 512);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(range.Allocate(512, 512), nullptr);
  range.Free(a);
  range.Free(c);
  range.Free(b);
  EXPECT_EQ(range.Allocate(1 << 20, 512), a);
}

TEST(FillBytes, LargeZeroFillOfUnalignedMemory_ClearsExactlyTheRange) {
  Memory memory(kGib);
  const uint64_t bytes = 4 << 20;
  auto* begin = static_cast<char*>(memory.AllocateDevice(bytes));
  std::memset(begin, 9, bytes);
  FillBytes(begin + 3, 0, bytes - 10, true);
  EXPECT_EQ(begin[2], 9);
  EXPECT_EQ(begin[3], 0);
  EXPECT_EQ(begin[bytes - 8], 0);
  EXPECT_EQ(begin[bytes - 7], 9);
}

}  // namespace
}  // namespace simgpu
