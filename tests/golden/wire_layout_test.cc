// The shared memory and the numbers in proto/wire may grow, never turn around: each line of wire_layout.txt must still
// be true.
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <sstream>
#include <string>

#include "proto/wire/shm.h"
#include "tests/golden/golden_file.h"

namespace stallscope::golden {
namespace {

constexpr const char* kFile = "wire_layout.txt";

using Lines = std::set<std::string>;

Lines CurrentLayout() {
  Lines lines;
  const auto add = [&lines](const std::string& what, uint64_t number) {
    lines.insert(what + " " + std::to_string(number));
  };
  for (uint32_t i = 0; i < static_cast<uint32_t>(wire::OsCall::kCount); ++i) {
    const wire::OsCallInfo& call = wire::kOsCalls[i];
    add(std::string("os_call ") + call.name, i);
    add(std::string("os_call_wait_kind ") + call.name, static_cast<uint64_t>(call.wait));
    add(std::string("os_call_object_kind ") + call.name, static_cast<uint64_t>(call.object));
  }
#define STALLSCOPE_NUMBER(type, name) add(#type " " #name, static_cast<uint64_t>(wire::type::name))
  STALLSCOPE_NUMBER(RecordKind, kWait);
  STALLSCOPE_NUMBER(RecordKind, kWake);
  STALLSCOPE_NUMBER(RecordKind, kCudaCall);
  STALLSCOPE_NUMBER(RecordKind, kGpuOp);
  STALLSCOPE_NUMBER(RecordKind, kRange);
  STALLSCOPE_NUMBER(RecordKind, kState);
  STALLSCOPE_NUMBER(RecordKind, kMemory);
  STALLSCOPE_NUMBER(RecordKind, kCodeLoad);
  STALLSCOPE_NUMBER(MemoryOperation, kAllocate);
  STALLSCOPE_NUMBER(MemoryOperation, kRelease);
  STALLSCOPE_NUMBER(MemoryOperation, kRegister);
  STALLSCOPE_NUMBER(MemoryOperation, kUnregister);
  STALLSCOPE_NUMBER(MemoryOperation, kPoolCreate);
  STALLSCOPE_NUMBER(MemoryOperation, kPoolDestroy);
  STALLSCOPE_NUMBER(MemoryOperation, kPoolTrim);
  STALLSCOPE_NUMBER(MemoryOperation, kPoolState);
  STALLSCOPE_NUMBER(MemoryOperation, kMigrateToDevice);
  STALLSCOPE_NUMBER(MemoryOperation, kMigrateToHost);
  STALLSCOPE_NUMBER(MemoryOperation, kMigrateBetweenDevices);
  STALLSCOPE_NUMBER(MemoryOperation, kCpuFaults);
  STALLSCOPE_NUMBER(MemoryOperation, kGpuFaults);
  STALLSCOPE_NUMBER(MemoryOperation, kThrashing);
  STALLSCOPE_NUMBER(MemoryOperation, kThrottling);
  STALLSCOPE_NUMBER(MemoryOperation, kRemoteMap);
  STALLSCOPE_NUMBER(CodeLoadKind, kModule);
  STALLSCOPE_NUMBER(CodeLoadKind, kLazyFunction);
  STALLSCOPE_NUMBER(CodeLoadKind, kJitCompile);
  STALLSCOPE_NUMBER(CodeLoadKind, kJitCacheLoad);
  STALLSCOPE_NUMBER(CodeLoadKind, kJitCacheStore);
  STALLSCOPE_NUMBER(CodeLoadKind, kCompiler);
  STALLSCOPE_NUMBER(CudaDomain, kRuntime);
  STALLSCOPE_NUMBER(CudaDomain, kDriver);
  STALLSCOPE_NUMBER(CudaCallClass, kOther);
  STALLSCOPE_NUMBER(CudaCallClass, kLaunch);
  STALLSCOPE_NUMBER(CudaCallClass, kGraphLaunch);
  STALLSCOPE_NUMBER(CudaCallClass, kCopyAsync);
  STALLSCOPE_NUMBER(CudaCallClass, kCopySync);
  STALLSCOPE_NUMBER(CudaCallClass, kMemset);
  STALLSCOPE_NUMBER(CudaCallClass, kSyncDevice);
  STALLSCOPE_NUMBER(CudaCallClass, kSyncStream);
  STALLSCOPE_NUMBER(CudaCallClass, kSyncEvent);
  STALLSCOPE_NUMBER(CudaCallClass, kEventRecord);
  STALLSCOPE_NUMBER(CudaCallClass, kStreamWaitEvent);
  STALLSCOPE_NUMBER(CudaCallClass, kQueryEvent);
  STALLSCOPE_NUMBER(CudaCallClass, kQueryStream);
  STALLSCOPE_NUMBER(CudaCallClass, kAlloc);
  STALLSCOPE_NUMBER(CudaCallClass, kFree);
  STALLSCOPE_NUMBER(CudaCallClass, kHostAlloc);
  STALLSCOPE_NUMBER(CudaCallClass, kHostRegister);
  STALLSCOPE_NUMBER(CudaCallClass, kGraphBuild);
  STALLSCOPE_NUMBER(CudaCallClass, kModuleLoad);
  STALLSCOPE_NUMBER(CudaCallClass, kHostFunc);
  STALLSCOPE_NUMBER(GpuOpKind, kKernel);
  STALLSCOPE_NUMBER(GpuOpKind, kCopy);
  STALLSCOPE_NUMBER(GpuOpKind, kMemset);
  STALLSCOPE_NUMBER(GpuOpKind, kGraph);
  STALLSCOPE_NUMBER(GpuOpKind, kSync);
  STALLSCOPE_NUMBER(RangeKind, kPush);
  STALLSCOPE_NUMBER(RangeKind, kStartEnd);
  STALLSCOPE_NUMBER(RangeKind, kMark);
  STALLSCOPE_NUMBER(RangeKind, kStepMarker);
  STALLSCOPE_NUMBER(RangeKind, kEngineDecode);
  STALLSCOPE_NUMBER(RangeKind, kEngineToken);
  STALLSCOPE_NUMBER(Counter, kSlotsExhausted);
  STALLSCOPE_NUMBER(Counter, kStringsExhausted);
  STALLSCOPE_NUMBER(Counter, kCuptiDropped);
  STALLSCOPE_NUMBER(Counter, kGpuZeroTime);
  STALLSCOPE_NUMBER(Counter, kGpuReversedTime);
  STALLSCOPE_NUMBER(Counter, kGpuBeforeLaunch);
  STALLSCOPE_NUMBER(Counter, kGpuUnfinished);
  STALLSCOPE_NUMBER(Counter, kGpuUnknownKind);
  STALLSCOPE_NUMBER(Counter, kCuptiErrors);
  STALLSCOPE_NUMBER(Counter, kSocketRetries);
  STALLSCOPE_NUMBER(Counter, kFramesDropped);
  STALLSCOPE_NUMBER(Counter, kInternal);
#undef STALLSCOPE_NUMBER
#define STALLSCOPE_FIELD(type, field) add("offset " #type "." #field, offsetof(wire::type, field))
  add("size Record", sizeof(wire::Record));
  add("size ThreadSlot", sizeof(wire::ThreadSlot));
  add("size CurrentWait", sizeof(wire::CurrentWait));
  add("size ClockCalibration", sizeof(wire::ClockCalibration));
  STALLSCOPE_FIELD(Record, sequence);
  STALLSCOPE_FIELD(Record, begin);
  STALLSCOPE_FIELD(Record, duration);
  STALLSCOPE_FIELD(Record, object);
  STALLSCOPE_FIELD(Record, argument);
  STALLSCOPE_FIELD(Record, detail);
  STALLSCOPE_FIELD(Record, id);
  STALLSCOPE_FIELD(Record, stack);
  STALLSCOPE_FIELD(Record, kind);
  STALLSCOPE_FIELD(Record, call);
  STALLSCOPE_FIELD(Record, result);
  STALLSCOPE_FIELD(ThreadSlot, state);
  STALLSCOPE_FIELD(ThreadSlot, tid);
  STALLSCOPE_FIELD(ThreadSlot, start_ticks);
  STALLSCOPE_FIELD(ThreadSlot, name);
  STALLSCOPE_FIELD(ThreadSlot, generation);
  STALLSCOPE_FIELD(ThreadSlot, big_ring_plus_one);
  STALLSCOPE_FIELD(ThreadSlot, head);
  STALLSCOPE_FIELD(ThreadSlot, short_waits);
  STALLSCOPE_FIELD(ThreadSlot, current);
  STALLSCOPE_FIELD(ThreadSlot, drained);
  STALLSCOPE_FIELD(ThreadSlot, lost);
  STALLSCOPE_FIELD(CurrentWait, version);
  STALLSCOPE_FIELD(CurrentWait, kind);
  STALLSCOPE_FIELD(CurrentWait, call_plus_one);
  STALLSCOPE_FIELD(CurrentWait, object);
  STALLSCOPE_FIELD(CurrentWait, begin);
  STALLSCOPE_FIELD(CurrentWait, stack);
  STALLSCOPE_FIELD(CurrentWait, stack_begin_low);
  add("size StackEntry", sizeof(wire::StackEntry));
  STALLSCOPE_FIELD(StackEntry, frame_count);
  STALLSCOPE_FIELD(StackEntry, first_frame);
  STALLSCOPE_FIELD(StackEntry, generation);
  STALLSCOPE_FIELD(StackEntry, flags);
  STALLSCOPE_FIELD(ClockCalibration, version);
  STALLSCOPE_FIELD(ClockCalibration, kind);
  STALLSCOPE_FIELD(ClockCalibration, base_ticks);
  STALLSCOPE_FIELD(ClockCalibration, base_ns);
  STALLSCOPE_FIELD(ClockCalibration, mult);
  STALLSCOPE_FIELD(ClockCalibration, shift);
  STALLSCOPE_FIELD(ClockCalibration, uncertainty_ns);
  STALLSCOPE_FIELD(Header, magic);
  STALLSCOPE_FIELD(Header, version_major);
  STALLSCOPE_FIELD(Header, version_minor);
  STALLSCOPE_FIELD(Header, pid);
  STALLSCOPE_FIELD(Header, process_start_ns);
  STALLSCOPE_FIELD(Header, total_bytes);
  STALLSCOPE_FIELD(Header, waiters_offset);
  STALLSCOPE_FIELD(Header, slots_offset);
  STALLSCOPE_FIELD(Header, strings_offset);
  STALLSCOPE_FIELD(Header, rings_offset);
  STALLSCOPE_FIELD(Header, big_rings_offset);
  STALLSCOPE_FIELD(Header, waiter_count);
  STALLSCOPE_FIELD(Header, slot_count);
  STALLSCOPE_FIELD(Header, string_capacity);
  STALLSCOPE_FIELD(Header, string_bytes);
  STALLSCOPE_FIELD(Header, ring_records);
  STALLSCOPE_FIELD(Header, big_ring_records);
  STALLSCOPE_FIELD(Header, big_ring_count);
  STALLSCOPE_FIELD(Header, control);
  STALLSCOPE_FIELD(Header, wait_threshold_ns);
  STALLSCOPE_FIELD(Header, slots_used);
  STALLSCOPE_FIELD(Header, strings_used);
  STALLSCOPE_FIELD(Header, string_bytes_used);
  STALLSCOPE_FIELD(Header, big_rings_used);
  STALLSCOPE_FIELD(Header, heartbeat_ns);
  STALLSCOPE_FIELD(Header, agent_cpu_ns);
  STALLSCOPE_FIELD(Header, clock);
  STALLSCOPE_FIELD(Header, counters);
  STALLSCOPE_FIELD(Header, stacks_offset);
  STALLSCOPE_FIELD(Header, stack_capacity);
  STALLSCOPE_FIELD(Header, stack_frame_capacity);
  STALLSCOPE_FIELD(Header, stacks_used);
  STALLSCOPE_FIELD(Header, stack_frames_used);
#undef STALLSCOPE_FIELD
  add("pack_cuda_detail", wire::PackCudaDetail(static_cast<wire::CudaCallClass>(1), static_cast<wire::CudaDomain>(1),
                                               static_cast<wire::CopyKind>(3), 4));
  add("pack_gpu_detail", wire::PackGpuDetail(1, static_cast<wire::CopyKind>(2), 3, 4, 5));
  return lines;
}

Lines ParseLines(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.insert(line);
  }
  return lines;
}

std::string Missing(const Lines& lines, const Lines& from) {
  std::string missing;
  for (const std::string& line : lines) {
    if (from.count(line) == 0) missing += "  " + line + "\n";
  }
  return missing;
}

TEST(WireLayout, WhatWasThere_IsStillThere) {
  const Lines stored = ParseLines(Read(kFile)), current = CurrentLayout();
  const std::string broken = Missing(stored, current);
  EXPECT_EQ(broken, "") << "a collector would misread the memory or the captures of released agents; append instead";
  if (Updating() && broken.empty()) {
    std::string text;
    for (const std::string& line : current) text += line + "\n";
    ASSERT_TRUE(Write(kFile, text));
    return;
  }
  EXPECT_EQ(Missing(current, stored), "") << kHowToAccept;
}

}  // namespace
}  // namespace stallscope::golden
