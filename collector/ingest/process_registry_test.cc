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
  for (uint32_t id = 1; id <= kMaxThreads + 10; ++id) registry.Ring(id);
  EXPECT_NE(registry.Ring(kMaxThreads + 5), nullptr);
  EXPECT_GT(registry.refused(), 0u);
}

TEST(ProcessRegistry, ThreadNamedByAgentAndProc_IsOne) {
  ProcessRegistry registry;
  const RingEntry* sampled = registry.AddThread(kFirstSampledThreadId, 100, "worker", 10 * kSecond);
  const RingEntry* agent = registry.AddThread(1, 100, "worker", 12 * kSecond);
  EXPECT_NE(agent, sampled);
  EXPECT_EQ(agent->thread, sampled->thread);
  EXPECT_EQ(registry.Thread(1)->thread, kFirstSampledThreadId);
}

TEST(ProcessRegistry, ThreadThatTookASecondSlot_IsOneWithTwoRings) {
  ProcessRegistry registry;
  RingEntry* first = registry.AddThread(1, 100, "cupti", 10 * kSecond);
  first->progress->next_record = 4;
  const RingEntry* second = registry.AddThread(2, 100, "cupti", 10 * kSecond + 5000);
  EXPECT_EQ(first->thread, second->thread);
  EXPECT_EQ(second->progress->next_record, 0u);
  EXPECT_EQ(registry.FindRing(100, 10 * kSecond + 100, 1000), first);
  EXPECT_EQ(registry.FindRing(100, 10 * kSecond + 4900, 1000), second);
  EXPECT_EQ(registry.FindRing(100, 10 * kSecond + 50'000, 1000), nullptr);
}

TEST(ProcessRegistry, SlotUnderASecondId_GoesOnWhereTheFirstStopped) {
  ProcessRegistry registry;
  RingEntry* small = registry.AddThread(1, 100, "main", 10 * kSecond);
  small->progress->seen_batch = true;
  small->progress->next_record = 3;
  RingEntry* drained = registry.AddThread(kFirstCollectorId, 100, "main", 10 * kSecond + 50);
  drained->progress->seen_batch = true;
  drained->progress->next_record = 77;
  RingEntry* again = registry.AddThread(2, 100, "main", 10 * kSecond + 300);
  EXPECT_EQ(again->thread, drained->thread);
  registry.ContinueProgress(again, 77, 1000);
  EXPECT_EQ(again->progress, drained->progress);
}

TEST(ProcessRegistry, KernelIdUsedAgain_IsAnotherThread) {
  ProcessRegistry registry;
  const ThreadEntry* first = registry.AddThread(1, 100, "old", 10 * kSecond)->thread;
  const ThreadEntry* second = registry.AddThread(2, 100, "new", 50 * kSecond)->thread;
  EXPECT_NE(second, first);
  const ThreadEntry* third = registry.AddThread(kFirstSampledThreadId, 100, "newer", 90 * kSecond)->thread;
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
}

TEST(ProcessRegistry, NamelessThread_GetsItsNameLater) {
  ProcessRegistry registry;
  RingEntry* ring = registry.Ring(4);
  EXPECT_EQ(registry.AddThread(4, 44, "late", 5), ring);
  EXPECT_EQ(registry.Thread(4)->tid, 44u);
  EXPECT_EQ(registry.FindRing(44, 5, 0), ring);
}

}  // namespace
}  // namespace stallscope::ingest
