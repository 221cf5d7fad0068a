#include "tools/attach/injector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace stallscope::attach {
namespace {

using testing::HasSubstr;

TargetProcess ThisProcess() {
  TargetProcess target;
  target.pid = getpid(), target.name = "server", target.threads = 1;
  target.modules = ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")));
  return target;
}

TEST(Injector, ProcessWithoutACLibrary_IsRefusedBeforeAnythingStops) {
  TargetProcess target = ThisProcess();
  target.modules.clear();
  Injector injector(target, absl::ZeroDuration(), "attach to");
  const absl::Status status = injector.Prepare();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot attach to " + std::to_string(getpid()) + " (server): "));
}

// The kernel lets nobody trace the threads of the process that it is itself.
TEST(Injector, ThreadsThatMayNotBeTraced_AreSaidWithTheNextStep) {
  const TargetProcess target = ThisProcess();
  Injector injector(target, absl::ZeroDuration(), "detach from");
  ASSERT_TRUE(injector.Prepare().ok());
  Injection result;
  const absl::Status status = injector.Inject(InjectedData{}, &result);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the kernel does not allow it"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Run stallscope attach as root"));
  EXPECT_EQ(result.threads_tried, 1);
}

}  // namespace
}  // namespace stallscope::attach
