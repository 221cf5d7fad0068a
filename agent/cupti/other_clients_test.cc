#include "agent/cupti/other_clients.h"

#include <gtest/gtest.h>

namespace stallscope::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(OtherClients, Nobody_IsNotBusy) { EXPECT_FALSE(OtherClients().Busy(5 * kSecond)); }

TEST(OtherClients, EnabledKind_IsBusyUntilItIsDisabledAndQuiet) {
  OtherClients others;
  others.Called(10 * kSecond);
  others.Enabled(10);
  others.Enabled(1);
  EXPECT_TRUE(others.Busy(100 * kSecond));
  others.Called(200 * kSecond);
  others.Disabled(10);
  EXPECT_TRUE(others.Busy(300 * kSecond));
  others.Called(300 * kSecond);
  others.Disabled(1);
  EXPECT_TRUE(others.Busy(300 * kSecond + 1)) << "it may be between two calls";
  EXPECT_FALSE(others.Busy(302 * kSecond));
}

TEST(OtherClients, ExclusiveSubscription_IsBusyUntilItEnds) {
  OtherClients others;
  others.Subscribed(/*shared=*/false);
  EXPECT_TRUE(others.Busy(kSecond));
  others.Unsubscribed();
  EXPECT_FALSE(others.Busy(kSecond));
  others.Unsubscribed();  // one that began before the agent was there
  EXPECT_FALSE(others.Busy(kSecond));
}

TEST(OtherClients, SharedSubscription_IsNoObstacleAndKnown) {
  OtherClients others;
  others.Subscribed(/*shared=*/true);
  EXPECT_FALSE(others.Busy(kSecond));
  EXPECT_TRUE(others.shares());
}

TEST(OtherClients, Finalized_IsForGood) {
  OtherClients others;
  others.Finalized();
  EXPECT_TRUE(others.Busy(1000 * kSecond));
}

TEST(OtherClients, KindOfANewerVersion_IsKept) {
  OtherClients others;
  others.Enabled(4000);
  EXPECT_TRUE(others.Busy(kSecond));
  others.Disabled(4000);
  EXPECT_FALSE(others.Busy(kSecond));
}

}  // namespace
}  // namespace stallscope::agent
