#include "collector/budget/report_text.h"

#include <gtest/gtest.h>

#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

TEST(WithoutVersion, CutsExactlyFourDigitsAtTheEnd) {
  EXPECT_EQ(WithoutVersion("cudaDeviceSynchronize_v3020"), "cudaDeviceSynchronize");
  EXPECT_EQ(WithoutVersion("cudaGraphLaunch_v10000"), "cudaGraphLaunch_v10000");
  EXPECT_EQ(WithoutVersion("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
  EXPECT_EQ(WithoutVersion("cudaStreamGetCaptureInfo_v2_v11030"), "cudaStreamGetCaptureInfo_v2_v11030");
  EXPECT_EQ(WithoutVersion("_v3020"), "_v3020");
  EXPECT_EQ(WithoutVersion(""), "");
}

TEST(TextOfCause, NamesCallThreadAndCopies) {
  TraceBuilder trace;
  const ThreadIndex main = trace.Thread("MainThread").index();
  const auto text = [&trace](CauseKey key, uint64_t count = 1) { return TextOfCause({key, 1, count}, &trace); };
  const auto sync = static_cast<uint64_t>(wire::CudaCallClass::kSyncDevice);
  EXPECT_EQ(text(MakeCause(CauseKind::kCudaCall, sync, main)), "cudaDeviceSynchronize, MainThread");
  EXPECT_EQ(text(MakeCause(CauseKind::kOsCall, static_cast<uint64_t>(wire::OsCall::kEpollWait), main)),
            "epoll_wait, MainThread");
  EXPECT_EQ(text(MakeCause(CauseKind::kCopy, 17, 524288), 1546), "1,546 x 512 KiB, graph 17");
  EXPECT_EQ(text(MakeCause(CauseKind::kKernel, 17, 5)), "replayed by graph 17");
  EXPECT_EQ(text(MakeCause(CauseKind::kWaker, static_cast<uint64_t>(wire::OsCall::kPthreadMutexLock), main)),
            "MainThread, waited for in pthread_mutex_lock");
  EXPECT_EQ(text(MakeCause(CauseKind::kThread, 0, 99)), "thread 99");
  EXPECT_EQ(text(0), "");
}

}  // namespace
}  // namespace stallscope
