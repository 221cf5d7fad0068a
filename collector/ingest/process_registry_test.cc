#include "collector/ingest/process_registry.h"

#include <gtest/gtest.h>

#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

constexpr HostNs kSecond = 1'000'000'000;

v1::Intern OneString(uint32_t id, const std::string& text) {
  v1::Intern intern;
  intern.add_strings()->set_id(id);
  intern.mutable_strings(0)->set_text(text);
  return intern;
}

TEST(ProcessRegistry, UnknownNames_AreEmptyOrNumbered) {
  ProcessRegistry registry;
  EXPECT_EQ(registry.String(4), "");
  EXPECT_EQ(registry.Object(4), 0u);
  EXPECT_EQ(registry.CallName(wire::CudaDomain::kRuntime, 165), "cuda_runtime_165");
  EXPECT_EQ(registry.CallName(wire::CudaDomain::kDriver, 7), "cuda_driver_7");
  EXPECT_EQ(registry.Thread(3), nullptr);
}

TEST(ProcessRegistry, Views_StayValidWhileTheTableGrows) {
  ProcessRegistry registry;
  registry.AddNames(OneString(1, "first"));
  const std::string_view first = registry.String(1);
  for (uint32_t id = 2; id < 5000; ++id) registry.AddNames(OneString(id, "name " + std::to_string(id)));
  EXPECT_EQ(first, "first");
  EXPECT_EQ(registry.String(1).data(), first.data());
  EXPECT_EQ(registry.String(4999), "name 4999");
}

TEST(ProcessRegistry, PastTheLimits_IsRefusedAndCounted) {
  ProcessRegistry registry;
  registry.AddNames(OneString(0, "zero"));
  registry.AddNames(OneString(kIdLimit, "high"));
  registry.AddNames(OneString(9, std::string(kMaxStringBytes + 1, 'x')));
  EXPECT_EQ(registry.refused(), 3u);
  EXPECT_EQ(registry.String(9), "");
}

TEST(ProcessRegistry, IdsSpreadOverAllPages_StayWithinTheMemoryLimit) {
  ProcessRegistry registry;
  v1::Intern intern;
  for (uint32_t id = 1; id < kIdLimit; id += 200) {
    auto* object = intern.add_objects();
    object->set_id(id);
    object->set_value(id);
  }
  registry.AddNames(intern);
  v1::Intern texts;
  for (uint32_t id = 1; id < kIdLimit; id += 200) texts.add_strings()->set_id(id);
  registry.AddNames(texts);
  EXPECT_GT(registry.refused(), 0u);
  EXPECT_EQ(registry.Object(201), 201u);
}

TEST(ProcessRegistry, ThreadsPastTheLimit_ShareAnEntry) {
  ProcessRegistry registry;
  for (uint32_t id = 1; id <= kMaxThreads + 10; ++id) registry.ThreadById(id);
  EXPECT_NE(registry.ThreadById(kMaxThreads + 5), nullptr);
  EXPECT_GT(registry.refused(), 0u);
}

TEST(ProcessRegistry, ThreadNamedByAgentAndProc_IsOne) {
  ProcessRegistry registry;
  const ThreadEntry* sampled = registry.AddThread(kFirstSampledThreadId, 100, "worker", 10 * kSecond);
  EXPECT_EQ(registry.AddThread(1, 100, "worker", 12 * kSecond), sampled);
  EXPECT_EQ(registry.ThreadById(1), registry.ThreadById(kFirstSampledThreadId));
  EXPECT_EQ(registry.Thread(1)->thread, kFirstSampledThreadId);
}

TEST(ProcessRegistry, ThreadNamedByAgentAndMemory_IsOne) {
  ProcessRegistry registry;
  const ThreadEntry* agent = registry.AddThread(1, 100, "main", 10 * kSecond);
  EXPECT_EQ(registry.AddThread(kFirstCollectorId, 100, "main", 10 * kSecond + 300), agent);
}

TEST(ProcessRegistry, KernelIdUsedAgain_IsAnotherThread) {
  ProcessRegistry registry;
  const ThreadEntry* first = registry.AddThread(1, 100, "old", 10 * kSecond);
  EXPECT_NE(registry.AddThread(2, 100, "new", 50 * kSecond), first);
  EXPECT_NE(registry.AddThread(kFirstSampledThreadId, 100, "newer", 90 * kSecond), first);
  EXPECT_EQ(registry.ThreadByTid(100)->info.name, "newer");
}

TEST(ProcessRegistry, NamelessThread_GetsItsNameLater) {
  ProcessRegistry registry;
  ThreadEntry* entry = registry.ThreadById(4);
  EXPECT_EQ(registry.AddThread(4, 44, "late", 5), entry);
  EXPECT_EQ(registry.Thread(4)->tid, 44u);
}

}  // namespace
}  // namespace stallscope::ingest
