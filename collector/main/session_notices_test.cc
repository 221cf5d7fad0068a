#include "collector/main/session_notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/shm.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;

void Say(SessionNotices* notices, v1::State::What what, uint64_t at_ns, const char* text) {
  v1::State state;
  state.set_what(what);
  state.set_monotonic_ns(at_ns);
  state.set_text(text);
  notices->OnState(state, "server");
}

TEST(SessionNotices, CuptiTaken_SaysByWhomAndWhatGoesOn) {
  SessionNotices notices;
  Say(&notices, v1::State::CUPTI_TAKEN, 5 * kSecond, "nsys");
  EXPECT_THAT(notices.Lines(),
              ElementsAre(HasSubstr("CUPTI is held by nsys in server: OS and runtime-call lines go on")));
}

TEST(SessionNotices, CuptiReturned_MarksTheInterval) {
  SessionNotices notices;
  Say(&notices, v1::State::CUPTI_ACTIVE, kSecond, "");
  EXPECT_THAT(notices.Lines(), IsEmpty());
  Say(&notices, v1::State::CUPTI_TAKEN, 5 * kSecond, "torch.profiler (libtorch_cpu.so)");
  Say(&notices, v1::State::CUPTI_RETURNED, 7 * kSecond + 340'000'000, "");
  EXPECT_THAT(
      notices.Lines(),
      ElementsAre("GPU lines are missing for 2.3 s in which CUPTI was held by torch.profiler (libtorch_cpu.so)"));
  Say(&notices, v1::State::CUPTI_TAKEN, 10 * kSecond, "nsys");
  Say(&notices, v1::State::CUPTI_RETURNED, 11 * kSecond, "");
  EXPECT_THAT(notices.Lines(),
              ElementsAre("GPU lines are missing for 3.3 s in which CUPTI was held by nsys and others (2 times)"));
}

TEST(SessionNotices, StacksMissing_SaysWhatToInstall) {
  SessionNotices notices;
  Say(&notices, v1::State::STACKS_MISSING, kSecond, "libunwind-x86_64.so.8 cannot be opened (Debian: libunwind8)");
  EXPECT_THAT(notices.Lines(), ElementsAre(HasSubstr("no stacks in server: libunwind-x86_64.so.8 cannot be opened "
                                                     "(Debian: libunwind8)")));
}

TEST(SessionNotices, RefusedRecords_AreNamedByCause) {
  v1::Health health;
  for (uint32_t i = 0; i < static_cast<uint32_t>(wire::Counter::kCount); ++i) health.add_counters(0);
  health.set_counters(static_cast<int>(wire::Counter::kGpuZeroTime), 12);
  health.set_counters(static_cast<int>(wire::Counter::kGpuUnfinished), 1);
  SessionNotices notices;
  notices.OnHealth(health);
  EXPECT_THAT(notices.Lines(),
              ElementsAre("GPU records of which no number was made: 12 had no times (CUPTI had no room "
                          "on the device to take them), 1 came before their work had ended"));
}

}  // namespace
}  // namespace stallscope
