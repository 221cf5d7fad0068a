#include "collector/memory/memory_account.h"

#include <gtest/gtest.h>

#include "collector/memory/code_loads.h"
#include "collector/memory/gpu_places.h"

namespace stallscope {
namespace {

using wire::MemoryOperation;

constexpr HostNs kSecond = 1'000'000'000;
constexpr uint8_t kDevice = static_cast<uint8_t>(MemoryKind::kDevice);

class Names : public ProcessNames {
 public:
  std::string_view String(StringId) const override { return ""; }
  std::string_view CallName(wire::CudaDomain, uint16_t call) const override {
    return call == 1 ? "cudaMalloc_v3020" : call == 2 ? "cudaGraph_vault" : "cuMemFree_v2";
  }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }
};
const Names kNames;

MemoryEvent At(MemoryOperation operation, HostNs at, uint64_t address, uint64_t bytes, uint8_t kind = kDevice,
               uint64_t extra = 0) {
  return {operation, at, at, address, bytes, extra, kind, 0, 0, 0};
}

CudaCallEvent Call(uint16_t number, wire::CudaCallClass call_class, HostNs begin, HostNs end, uint64_t bytes,
                   int32_t result = 0) {
  CudaCallEvent call{};
  call.call = number;
  call.call_class = call_class;
  call.begin = begin;
  call.end = end;
  call.argument = bytes;
  call.result = result;
  return call;
}

const MemoryKindReport* Kind(const MemoryReport& report, const std::string& name) {
  for (const MemoryKindReport& kind : report.kinds) {
    if (kind.kind == name) return &kind;
  }
  return nullptr;
}

TEST(MemoryAccount, AllocationsThatComeAndGo_AreLiveThenChurn) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kAllocate, 1 * kSecond, 0x1000, 1000));
  account.OnMemory(At(MemoryOperation::kAllocate, 2 * kSecond, 0x2000, 500));
  account.OnMemory(At(MemoryOperation::kRelease, 3 * kSecond, 0x1000, 0));
  const MemoryReport report = account.Report(0, 4 * kSecond, kNames);
  const MemoryKindReport* device = Kind(report, "device");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->live_bytes, 500u);
  EXPECT_EQ(device->live_allocations, 1u);
  EXPECT_EQ(device->peak_bytes, 1500u);
  EXPECT_EQ(device->allocated_bytes, 1500u);
  EXPECT_EQ(device->released_bytes, 1000u);
  EXPECT_EQ(report.came_and_went_bytes, 1000u);
}

TEST(MemoryAccount, Window_HoldsItsOwnSecondsAndWhatIsLive) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kAllocate, 1 * kSecond, 0x1000, 1000));
  account.OnMemory(At(MemoryOperation::kRelease, 20 * kSecond + 1, 0x1000, 0));
  account.OnMemory(At(MemoryOperation::kAllocate, 20 * kSecond + 2, 0x1000, 10));
  const MemoryReport report = account.Report(10 * kSecond, 21 * kSecond, kNames);
  const MemoryKindReport* device = Kind(report, "device");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->allocations, 1u);
  EXPECT_EQ(device->allocated_bytes, 10u);
  EXPECT_EQ(device->live_bytes, 10u);
  EXPECT_EQ(device->peak_bytes, 1000u);  // when the window began
  EXPECT_EQ(report.seconds, 10);
}

TEST(MemoryAccount, AddressInUseAgain_EndsTheAllocationBefore) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kAllocate, kSecond, 0x1000, 1000));
  account.OnMemory(At(MemoryOperation::kAllocate, kSecond, 0x1000, 300));
  const MemoryReport report = account.Report(0, 2 * kSecond, kNames);
  EXPECT_EQ(Kind(report, "device")->live_bytes, 300u);
  EXPECT_EQ(Kind(report, "device")->releases, 1u);
}

TEST(MemoryAccount, ReleaseOfSomethingUnknown_IsCountedOnly) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kRelease, kSecond, 0x1000, 1 << 20));
  account.OnMemory(At(MemoryOperation::kUnregister, kSecond, 0x1000, 0));
  const MemoryReport report = account.Report(0, 2 * kSecond, kNames);
  EXPECT_TRUE(report.kinds.empty());
  EXPECT_EQ(report.unmatched_releases, 2u);
}

TEST(MemoryAccount, AbsurdSizesAndKinds_MakeNoNumber) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kAllocate, kSecond, 0x1000, ~uint64_t{0}));
  account.OnMemory(At(MemoryOperation::kPoolState, kSecond, 0x9000, 5, kDevice, ~uint64_t{0}));
  account.OnMemory(At(MemoryOperation::kMigrateToHost, kSecond, 0x1000, uint64_t{1} << 60));
  account.OnMemory(At(MemoryOperation::kAllocate, kSecond, 0x2000, 7, 200));  // a kind of a newer CUPTI
  const MemoryReport report = account.Report(0, 2 * kSecond, kNames);
  EXPECT_EQ(report.refused, 3u);
  EXPECT_EQ(Kind(report, "device"), nullptr);
  EXPECT_EQ(Kind(report, "unknown")->live_bytes, 7u);
  EXPECT_EQ(report.unified.to_host_bytes, 0u);
}

TEST(MemoryAccount, RegisteredMemory_IsABookOfItsOwn) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kAllocate, kSecond, 0x1000, 100, static_cast<uint8_t>(MemoryKind::kPinned)));
  account.OnMemory(At(MemoryOperation::kRegister, kSecond, 0x1000, 4096, 1));
  account.OnMemory(At(MemoryOperation::kUnregister, kSecond, 0x1000, 0, 1));
  const MemoryReport report = account.Report(0, 2 * kSecond, kNames);
  EXPECT_EQ(Kind(report, "pinned")->live_bytes, 100u);
  EXPECT_EQ(Kind(report, "registered")->live_bytes, 0u);
  EXPECT_EQ(Kind(report, "registered")->allocated_bytes, 4096u);
}

TEST(MemoryAccount, Pools_ReserveAndAreTrimmed) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kPoolState, kSecond, 0x9000, 64 << 20, kDevice, 32 << 20));
  account.OnMemory(At(MemoryOperation::kPoolTrim, 2 * kSecond, 0x9000, 0));
  account.OnMemory(At(MemoryOperation::kPoolState, 2 * kSecond, 0x9000, 32 << 20, kDevice, 32 << 20));
  account.OnMemory(At(MemoryOperation::kPoolCreate, 2 * kSecond, 0x9100, 0));
  account.OnMemory(At(MemoryOperation::kPoolDestroy, 2 * kSecond, 0x9100, 0));
  const MemoryReport report = account.Report(0, 3 * kSecond, kNames);
  ASSERT_EQ(report.pools.size(), 1u);
  EXPECT_EQ(report.pools[0].reserved_bytes, 32u << 20);
  EXPECT_EQ(report.pools[0].peak_reserved_bytes, 64u << 20);
  EXPECT_EQ(report.pools[0].trims, 1u);
  EXPECT_EQ(account.Report(kSecond, 5 * kSecond, kNames).pools[0].trims, 0u);
}

TEST(MemoryAccount, TooManyPoolsAndAllocations_StayBounded) {
  MemoryAccount account;
  for (uint64_t i = 0; i < 2 * MemoryAccount::kMaxPools; ++i) {
    account.OnMemory(At(MemoryOperation::kPoolState, kSecond, i, 1, kDevice, 1));
  }
  EXPECT_EQ(account.Report(0, 2 * kSecond, kNames).pools.size(), MemoryAccount::kMaxPools);
  for (uint64_t i = 0; i < MemoryAccount::kMaxLive + 5; ++i) {
    account.OnMemory(At(MemoryOperation::kAllocate, kSecond, i, 1));
  }
  const MemoryReport report = account.Report(0, 2 * kSecond, kNames);
  EXPECT_EQ(report.untracked, 5u);
  EXPECT_EQ(Kind(report, "device")->live_allocations, MemoryAccount::kMaxLive);
}

TEST(MemoryAccount, Calls_AreSummedByNameAndFailuresBringNoBytes) {
  MemoryAccount account;
  account.OnCall(Call(1, wire::CudaCallClass::kAlloc, kSecond, kSecond + 100, 4096));
  account.OnCall(Call(1, wire::CudaCallClass::kAlloc, kSecond, kSecond + 300, 1 << 30, 2));
  account.OnCall(Call(3, wire::CudaCallClass::kFree, kSecond, kSecond + 50, 0));
  account.OnCall(Call(2, wire::CudaCallClass::kLaunch, kSecond, kSecond + 9000, 0));
  const MemoryReport report = account.Report(0, 2 * kSecond, kNames);
  ASSERT_EQ(report.calls.size(), 2u);
  EXPECT_EQ(report.calls[0].name, "cudaMalloc");
  EXPECT_EQ(report.calls[0].calls, 2u);
  EXPECT_EQ(report.calls[0].failed, 1u);
  EXPECT_EQ(report.calls[0].bytes, 4096u);
  EXPECT_EQ(report.calls[0].total_ns, 400);
  EXPECT_EQ(report.calls[0].longest_ns, 300);
  EXPECT_EQ(report.calls[1].name, "cuMemFree_v2");
}

TEST(MemoryAccount, UnifiedMemory_AddsUp) {
  MemoryAccount account;
  MemoryEvent faults = At(MemoryOperation::kGpuFaults, kSecond, 0x1000, 12, static_cast<uint8_t>(MemoryKind::kManaged));
  faults.end += 800;
  account.OnMemory(faults);
  account.OnMemory(At(MemoryOperation::kMigrateToDevice, kSecond, 0x1000, 65536));
  account.OnMemory(At(MemoryOperation::kThrashing, kSecond, 0x1000, 65536));
  const UnifiedMemoryReport unified = account.Report(0, 2 * kSecond, kNames).unified;
  EXPECT_EQ(unified.gpu_faults, 12u);
  EXPECT_EQ(unified.gpu_fault_ns, 800);
  EXPECT_EQ(unified.to_device_bytes, 65536u);
  EXPECT_EQ(unified.thrashing, 1u);
}

TEST(MemoryAccount, TimesFarBack_DoNotSpoilTheSecondsInUse) {
  MemoryAccount account;
  account.OnMemory(At(MemoryOperation::kAllocate, 1000 * kSecond, 0x1000, 10));
  account.OnMemory(At(MemoryOperation::kAllocate, 2 * kSecond, 0x2000, 10));
  account.OnMemory(At(MemoryOperation::kAllocate, (1000 - 301) * kSecond, 0x3000, 10));
  const MemoryReport report = account.Report(kSecond, 1001 * kSecond, kNames);
  EXPECT_EQ(Kind(report, "device")->allocations, 1u);
  EXPECT_EQ(Kind(report, "device")->live_allocations, 3u);
}

TEST(CodeLoads, EachKind_HasItsRowLongestFirst) {
  CodeLoads loads;
  loads.OnLoad({wire::CodeLoadKind::kLazyFunction, kSecond, kSecond + 100, 1, 1, 0});
  loads.OnLoad({wire::CodeLoadKind::kJitCompile, kSecond, kSecond + 5000, 1, 1, 777});
  loads.OnLoad({wire::CodeLoadKind::kJitCompile, kSecond, kSecond + 10, 1, 1, ~uint64_t{0}});
  loads.OnCall(Call(1, wire::CudaCallClass::kModuleLoad, kSecond, kSecond + 60, 0));
  loads.OnCall(Call(1, wire::CudaCallClass::kLaunch, kSecond, kSecond + 60'000, 0));
  const std::vector<CodeLoadReport> report = loads.Report(0, 2 * kSecond);
  ASSERT_EQ(report.size(), 3u);
  EXPECT_EQ(report[0].what, "compiling PTX");
  EXPECT_EQ(report[0].count, 2u);
  EXPECT_EQ(report[0].bytes, 777u);
  EXPECT_EQ(report[0].longest_ns, 5000);
  EXPECT_EQ(report[1].what, "loading a function at its first use");
  EXPECT_EQ(report[2].what, "calls that load modules");
  EXPECT_TRUE(loads.Report(kSecond, 100 * kSecond).empty());
}

TEST(GpuPlaces, PartsGreenContextsAndMps_AreSaid) {
  GpuPlaces places;
  EXPECT_TRUE(places.Notices().empty());
  places.OnDevice({0, "NVIDIA H200", false, 132, false, 0, 0});
  places.OnContext({1, 0, 0, 0, false, false});
  EXPECT_TRUE(places.Notices().empty());
  places.OnDevice({1, "NVIDIA H200 MIG 1g.18gb", false, 16, true, 3, 0});
  places.OnContext({2, 0, 16, 1, false, true});
  places.OnMps(1, "its control pipe is there");
  const std::vector<std::string> notices = places.Notices();
  ASSERT_EQ(notices.size(), 3u);
  EXPECT_EQ(notices[0], "GPU 1 is a part of a GPU (MIG, GPU instance 3, compute instance 0) with 16 multiprocessors");
  EXPECT_EQ(notices[1], "green contexts share the multiprocessors: context 2: 16 of 132");
  EXPECT_NE(notices[2].find("runs under MPS (its control pipe is there): kernels are not traced"), std::string::npos);
  places.OnMps(0, "");
  EXPECT_EQ(places.Notices().size(), 2u);
}

TEST(GpuPlaces, EndlessNamesAndContexts_StayBounded) {
  GpuPlaces places;
  for (uint64_t i = 0; i < 10'000; ++i) {
    places.OnNamed({NamedKind::kStream, i, std::string(1000, 'x')});
    places.OnContext({static_cast<uint32_t>(i), 0, 16, 0, false, true});
  }
  EXPECT_EQ(places.Names().size(), GpuPlaces::kMaxNames);
  EXPECT_EQ(places.Names()[0].name.size(), GpuPlaces::kMaxNameBytes);
  EXPECT_EQ(places.Contexts().size(), GpuPlaces::kMaxContexts);
  places.OnNamed({NamedKind::kStream, 3, "decode"});
  EXPECT_EQ(places.Names()[3].name, "decode");
}

}  // namespace
}  // namespace stallscope
