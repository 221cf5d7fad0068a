#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"
#include "agent/cupti/activity_bytes.h"
#include "agent/cupti/activity_decoder.h"

namespace stallscope::agent {
namespace {

using wire::Counter;
using wire::MemoryOperation;

constexpr uint64_t kProcessStart = 10'000'000'000, kAt = 15'000'000'000, kNow = 20'000'000'000;

CUpti_ActivityMemory4 Memory(CUpti_ActivityMemoryOperationType type = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
  CUpti_ActivityMemory4 memory = {};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = type;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.correlationId = 42;
  memory.address = 0x7f0000001000;
  memory.bytes = 1 << 20;
  memory.timestamp = kAt;
  memory.deviceId = 2;
  return memory;
}

CUpti_ActivityMemory4 FromPool(uint64_t reserved_bytes, uint64_t used_bytes) {
  CUpti_ActivityMemory4 memory = Memory();
  memory.isAsync = 1;
  memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  memory.memoryPoolConfig.address = 0x5000;
  memory.memoryPoolConfig.pool.size = reserved_bytes;
  memory.memoryPoolConfig.utilizedSize = used_bytes;
  return memory;
}

class MemoryRecords : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    UseStridesOf130();
    g_test_strides[CUPTI_ACTIVITY_KIND_MEMORY2] = 128;
    g_test_strides[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = 80;
    g_test_strides[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = 104;
    SetUpDecoder();
  }
  void SetUpDecoder() {
    decoder_.SetUp(kProcessStart, false);
    decoder_.UseParser(TestNextRecord, ProbeRecordSizes(TestNextRecord));
  }
  std::vector<RecordFields>& Decode() {
    EXPECT_EQ(decoder_.Decode(bytes_.data(), bytes_.size(), kNow), 0u);  // none is work of the GPU
    return Fake().records;
  }

  ActivityDecoder decoder_;
  ActivityBytes bytes_;
};

TEST_F(MemoryRecords, AllocationAndRelease_AreTold) {
  bytes_.Add(Memory());
  bytes_.Add(Memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE));
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, wire::RecordKind::kMemory);
  EXPECT_EQ(records[0].call, static_cast<uint16_t>(MemoryOperation::kAllocate));
  EXPECT_EQ(records[0].begin, kAt);
  EXPECT_EQ(records[0].object, 0x7f0000001000u);
  EXPECT_EQ(records[0].argument, 1u << 20);
  EXPECT_EQ(records[0].id, 42u);
  EXPECT_EQ(records[0].stack, wire::PackMemoryPlace(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 2, 0));
  EXPECT_EQ(records[1].call, static_cast<uint16_t>(MemoryOperation::kRelease));
  EXPECT_FALSE(decoder_.managed_memory());
}

TEST_F(MemoryRecords, Pool_IsToldWhenItsReservedMemoryChanged) {
  bytes_.Add(FromPool(32 << 20, 1 << 20));
  bytes_.Add(FromPool(32 << 20, 2 << 20));
  bytes_.Add(FromPool(64 << 20, 3 << 20));
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].detail, 0x5000u);
  EXPECT_EQ(records[0].stack >> 16, wire::kMemoryFlagAsync);
  EXPECT_EQ(records[1].call, static_cast<uint16_t>(MemoryOperation::kPoolState));
  EXPECT_EQ(records[1].object, 0x5000u);
  EXPECT_EQ(records[1].argument, 32u << 20);
  EXPECT_EQ(records[1].detail, 1u << 20);
  EXPECT_EQ(records[2].call, static_cast<uint16_t>(MemoryOperation::kAllocate));
  EXPECT_EQ(records[4].argument, 64u << 20);
}

// CUDA 11.2 wrote 112 bytes: pools, but not what is used of them.
TEST_F(MemoryRecords, ShorterRecord_LeavesMissingFieldsZero) {
  g_test_strides[CUPTI_ACTIVITY_KIND_MEMORY2] = 112;
  SetUpDecoder();
  bytes_.Add(FromPool(32 << 20, 1 << 20), 112);
  bytes_.Add(Memory(), 112);
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].argument, 32u << 20);
  EXPECT_EQ(records[1].detail, 0u);
  EXPECT_EQ(records[2].argument, 1u << 20);
}

TEST_F(MemoryRecords, TimesThatCannotBe_MakeNoRecord) {
  for (const uint64_t timestamp : {uint64_t{0}, uint64_t{1}, kNow + 1'000'000'000, ~uint64_t{0}}) {
    CUpti_ActivityMemory4 memory = Memory();
    memory.timestamp = timestamp;
    bytes_.Add(memory);
  }
  EXPECT_TRUE(Decode().empty());
  EXPECT_EQ(Fake().CountOf(Counter::kGpuZeroTime), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuOtherClock), 3u);
}

TEST_F(MemoryRecords, OperationsOfANewerLibrary_AreCounted) {
  bytes_.Add(Memory(static_cast<CUpti_ActivityMemoryOperationType>(9)));
  CUpti_ActivityMemoryPool3 pool = {};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  pool.memoryPoolOperationType = static_cast<CUpti_ActivityMemoryPoolOperationType>(9);
  bytes_.Add(pool);
  CUpti_ActivityUnifiedMemoryCounter3 counter = {};
  counter.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  counter.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(99);
  bytes_.Add(counter);
  EXPECT_TRUE(Decode().empty());
  EXPECT_EQ(Fake().CountOf(Counter::kGpuUnknownKind), 3u);
}

TEST_F(MemoryRecords, PoolOperations_AreToldWithWhatIsLeft) {
  CUpti_ActivityMemoryPool3 pool = {};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  pool.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
  pool.address = 0x5000;
  pool.minBytesToKeep = 4096;
  pool.size = 8 << 20;
  pool.utilizedSize = 4 << 20;
  pool.timestamp = kAt;
  bytes_.Add(pool);
  pool.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED;
  bytes_.Add(pool);
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].call, static_cast<uint16_t>(MemoryOperation::kPoolTrim));
  EXPECT_EQ(records[0].argument, 4096u);
  EXPECT_EQ(records[1].call, static_cast<uint16_t>(MemoryOperation::kPoolState));
  EXPECT_EQ(records[1].argument, 8u << 20);
  EXPECT_EQ(records[1].detail, 4u << 20);
  EXPECT_EQ(records[2].call, static_cast<uint16_t>(MemoryOperation::kPoolDestroy));
}

TEST_F(MemoryRecords, UnifiedMemory_FaultsAndMigrations) {
  CUpti_ActivityUnifiedMemoryCounter3 counter = {};
  counter.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
  counter.value = 12;
  counter.start = kAt;
  counter.end = kAt + 800;
  counter.address = 0x1000;
  counter.srcId = 1;
  bytes_.Add(counter);
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;
  counter.srcId = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
  counter.end = 0;  // a moment
  bytes_.Add(counter);
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
  counter.dstId = 3;
  counter.end = kAt - 1;  // reversed
  bytes_.Add(counter);
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].call, static_cast<uint16_t>(MemoryOperation::kGpuFaults));
  EXPECT_EQ(records[0].argument, 12u);
  EXPECT_EQ(records[0].duration, 800u);
  EXPECT_EQ(records[0].stack >> 8 & 0xff, 1u);
  EXPECT_EQ(records[1].call, static_cast<uint16_t>(MemoryOperation::kCpuFaults));
  EXPECT_EQ(records[1].duration, 0u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuReversedTime), 1u);
}

TEST_F(MemoryRecords, ManagedAllocation_IsNoticed) {
  CUpti_ActivityMemory4 memory = Memory();
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  bytes_.Add(memory);
  Decode();
  EXPECT_TRUE(decoder_.managed_memory());
}

}  // namespace
}  // namespace stallscope::agent
