#include "agent/entry/loader_use.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <thread>

namespace stallscope::agent {
namespace {

// Long enough for a thread that does not wait to come past.
void GiveWay() {
  for (int i = 0; i < 2000; ++i) sched_yield();
}

TEST(LoaderUse, ForkGoesOn_WaitsForItsEnd) {
  std::atomic<bool> fork_over{false}, waits{false};
  bool came_after_the_fork = false;
  auto fork = std::make_unique<LoaderLeftAlone>();
  std::thread user([&] {
    waits = true;
    const LoaderUse use;
    came_after_the_fork = fork_over;
  });
  while (!waits) sched_yield();
  GiveWay();
  fork_over = true;
  fork.reset();
  user.join();
  EXPECT_TRUE(came_after_the_fork);
}

TEST(LoaderUse, InTheThreadThatForks_DoesNotWait) {
  const LoaderLeftAlone fork;
  const LoaderUse use;  // as by a handler that fork runs: waiting for itself would last 5 s
  SUCCEED();
}

TEST(LoaderLeftAlone, AgentIsInTheLoader_WaitsUntilItHasLeft) {
  std::atomic<bool> left{false}, waits{false};
  bool forked_after_that = false;
  auto outer = std::make_unique<LoaderUse>();
  std::thread forker([&] {
    waits = true;
    const LoaderLeftAlone fork;
    forked_after_that = left;
  });
  while (!waits) sched_yield();
  GiveWay();
  {
    const LoaderUse nested;  // must not wait for a fork that waits for us
  }
  left = true;
  outer.reset();
  forker.join();
  EXPECT_TRUE(forked_after_that);
}

TEST(LoaderLeftAlone, InChild_NobodyIsInTheLoaderNorForks) {
  LoaderUse* left_in_the_parent = new LoaderUse;
  {
    std::thread forker([] { LoaderLeftAlone().InChild(); });
    GiveWay();
    delete left_in_the_parent;
    forker.join();
  }
  std::thread user([] { const LoaderUse use; });
  user.join();
  const LoaderLeftAlone fork;
  SUCCEED();
}

}  // namespace
}  // namespace stallscope::agent
