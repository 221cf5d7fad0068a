#include "tools/cli/exit_code.h"

#include <gtest/gtest.h>

#include <string>

namespace stallscope::cli {
namespace {

TEST(ExitCode, OfEachKindOfError_SaysWhoseFaultItIs) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Fail(absl::InvalidArgumentError("x")), kBadInput);
  EXPECT_EQ(Fail(absl::NotFoundError("x")), kBadInput);
  EXPECT_EQ(Fail(absl::DataLossError("x")), kBadInput);
  EXPECT_EQ(Fail(absl::OutOfRangeError("x")), kBadInput);
  EXPECT_EQ(Fail(absl::UnavailableError("x")), kNotAvailable);
  EXPECT_EQ(Fail(absl::PermissionDeniedError("x")), kNotAvailable);
  EXPECT_EQ(Fail(absl::FailedPreconditionError("x")), kNotAvailable);
  EXPECT_EQ(Fail(absl::InternalError("x")), kNotAvailable);
  testing::internal::GetCapturedStderr();
}

TEST(ExitCode, AnError_IsOneLineUnderTheProgramsName) {
  testing::internal::CaptureStderr();
  Fail(absl::UnavailableError("no collector answers. Start one: stallscope collect"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "stallscope: no collector answers. Start one: stallscope collect\n");
}

}  // namespace
}  // namespace stallscope::cli
