#include "collector/timeline/host_wakes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace stallscope {
namespace {

class Recorder : public HostWakes::Process {
 public:
  void OnWokenBy(uint64_t object, HostNs at, HostWakes::Member from, ThreadIndex waker) override {
    woken.emplace_back(object, at, from, waker);
  }
  uint32_t Pid() const override { return 1; }
  std::string_view Name() const override { return "recorder"; }
  std::string ThreadName(ThreadIndex) const override { return "main"; }
  HostNs TakesLateWakesSince() const override { return takes_since; }
  HostNs takes_since = INT64_MIN;

  std::vector<std::tuple<uint64_t, HostNs, HostWakes::Member, ThreadIndex>> woken;
};
using Woken = decltype(Recorder::woken);

TEST(HostWakes, SharedMemory_WakesTheOtherProcessUnderItsOwnAddress) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {0x1000, "mem 1:2+0", {"mem 1:2+0"}});
  wakes.OnIdentity(b, {0x9000, "mem 1:2+0", {"mem 1:2+0"}});
  wakes.OnWake(a, 7, 0x1000, 55);
  EXPECT_EQ(second.woken, (Woken{{0x9000, 55, a, 7}}));
  EXPECT_TRUE(first.woken.empty()) << "its own timeline has the wake-up already";
}

TEST(HostWakes, SocketPair_ReachesTheOtherEndOnly) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "unix 20", {"unix 10"}});
  wakes.OnIdentity(b, {4, "unix 10", {"unix 20"}});
  wakes.OnWake(a, 1, 3, 5);
  EXPECT_EQ(second.woken, (Woken{{4, 5, a, 1}}));
  wakes.OnWake(b, 2, 4, 6);
  EXPECT_EQ(first.woken, (Woken{{3, 6, b, 2}}));
}

TEST(HostWakes, BothEndsInOneProcess_HandsItToItself) {
  HostWakes wakes;
  Recorder only;
  const auto a = wakes.Join(&only);
  wakes.OnIdentity(a, {3, "tcp b a", {"tcp a b"}});
  wakes.OnIdentity(a, {4, "tcp a b", {"tcp b a"}});
  wakes.OnWake(a, 1, 3, 5);
  EXPECT_EQ(only.woken, (Woken{{4, 5, a, 1}}));
}

TEST(HostWakes, EpollSet_IsReachedThroughEachMember) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "unix 20", {"unix 10"}});
  wakes.OnIdentity(b, {9, "", {"unix 20", "unix 30"}});
  wakes.OnWake(a, 1, 3, 5);
  EXPECT_EQ(second.woken, (Woken{{9, 5, a, 1}}));
}

TEST(HostWakes, DescriptorUsedAgain_FollowsTheNewIdentity) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "pipe 1", {"pipe 1"}});
  wakes.OnIdentity(b, {4, "pipe 1", {"pipe 1"}});
  wakes.OnIdentity(b, {4, "pipe 2", {"pipe 2"}});
  wakes.OnWake(a, 1, 3, 5);
  EXPECT_TRUE(second.woken.empty());
}

TEST(HostWakes, ProcessThatLeft_IsNotCalled) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "pipe 1", {"pipe 1"}});
  wakes.OnIdentity(b, {4, "pipe 1", {"pipe 1"}});
  wakes.Leave(b);
  wakes.OnWake(a, 1, 3, 5);
  EXPECT_TRUE(second.woken.empty());
  EXPECT_EQ(wakes.Get(b), nullptr);
}

TEST(HostWakes, WokenOneIsIntroducedLater_GetsTheEarlierWakes) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first);
  wakes.OnIdentity(a, {3, "pipe 1", {"pipe 1"}});
  wakes.OnWake(a, 7, 3, 5);
  wakes.OnWake(a, 7, 3, 6);
  const auto b = wakes.Join(&second);
  wakes.OnIdentity(b, {4, "pipe 1", {"pipe 1"}});
  EXPECT_EQ(second.woken, (Woken{{4, 5, a, 7}, {4, 6, a, 7}}));
  EXPECT_TRUE(first.woken.empty());
  wakes.OnWake(a, 7, 3, 8);
  EXPECT_EQ(second.woken.size(), 3u);
}

TEST(HostWakes, WakersObjectIsNamedLater_ItsEarlierWakesAreHandedOn) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(b, {4, "unix 9", {"unix 8"}});
  for (const uint64_t object : {uint64_t{0x5000}, uint64_t{0x7fff'0000'0000'0003}}) {
    wakes.OnWake(a, 7, object, 5);
    wakes.OnWake(a, 7, object + 1, 6);  // something else
    wakes.OnIdentity(a, {object, "unix 8", {}});
    EXPECT_EQ(second.woken, (Woken{{4, 5, a, 7}}));
    second.woken.clear();
  }
}

TEST(HostWakes, SetThatGetsAMember_GetsTheEarlierWakesOfThatOneOnly) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "unix 20", {}});
  wakes.OnIdentity(a, {5, "unix 30", {}});
  wakes.OnIdentity(b, {9, "", {"unix 20"}});
  wakes.OnWake(a, 1, 3, 5);
  wakes.OnWake(a, 1, 5, 6);
  EXPECT_EQ(second.woken, (Woken{{9, 5, a, 1}}));
  wakes.OnIdentity(b, {9, "", {"unix 20", "unix 30"}});
  EXPECT_EQ(second.woken, (Woken{{9, 5, a, 1}, {9, 6, a, 1}})) << "each once";
}

TEST(HostWakes, LateForAStepThatHasBeenTold_IsLeftOut) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "pipe 1", {}});
  wakes.OnWake(a, 7, 3, 5);
  wakes.OnWake(a, 7, 3, 50);
  second.takes_since = 20;
  wakes.OnIdentity(b, {4, "", {"pipe 1"}});
  EXPECT_EQ(second.woken, (Woken{{4, 50, a, 7}}));
}

TEST(HostWakes, FilesOfData_WakeNobody) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, kDiskFile, {}});
  wakes.OnWake(a, 7, 3, 5);
  wakes.OnIdentity(b, {4, "", {kDiskFile}});
  EXPECT_TRUE(second.woken.empty());
}

TEST(HostWakes, KeptWakes_AreTheLatest) {
  HostWakes wakes;
  Recorder first, second;
  const auto a = wakes.Join(&first), b = wakes.Join(&second);
  wakes.OnIdentity(a, {3, "pipe 1", {}});
  for (size_t i = 0; i < HostWakes::kKept + 10; ++i) wakes.OnWake(a, 7, 3, static_cast<HostNs>(i));
  wakes.OnIdentity(b, {4, "", {"pipe 1"}});
  ASSERT_EQ(second.woken.size(), HostWakes::kKept);
  HostNs earliest = INT64_MAX;
  for (const auto& woken : second.woken) earliest = std::min(earliest, std::get<1>(woken));
  EXPECT_EQ(earliest, 10);
}

}  // namespace
}  // namespace stallscope
