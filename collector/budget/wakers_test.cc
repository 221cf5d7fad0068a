// Waits whose end needs more than a wake-up of the same process: joins, the interpreter lock, other processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/budget/trace_builder.h"
#include "collector/timeline/host_wakes.h"

namespace stallscope {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLock = 0x7000, kHandle = 0x9000;

TEST(Wakers, Join_IsChargedToWhatTheJoinedThreadDid) {
  TraceBuilder trace;
  const ThreadIndex worker = trace.Thread("Worker").Sleep(20, 70).index();
  trace.Thread("Main").Marker(0).Wait(wire::OsCall::kPthreadJoin, 10, 90, kHandle, 0, 1000 + worker).Marker(100);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostSleep), 50);
  EXPECT_EQ(analysed.Us(0, Line::kHostWaitThread), 0);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 0);
}

TEST(Wakers, JoinOfAnUnknownThread_StaysAWait) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Wait(wire::OsCall::kPthreadJoin, 10, 90, kHandle).Marker(100);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostWaitThread), 80);
}

TEST(Wakers, InterpreterLock_IsItsOwnLineAndNamesTheHolder) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Wait(wire::OsCall::kPythonGil, 10, 90, kLock).Marker(100);
  trace.Thread("Holder").Signal(80, kLock);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostGil), 70);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 10);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 20) << "before and after the wait, nothing of the holder's";
  EXPECT_THAT(analysed.Report().lines[static_cast<int>(Line::kHostGil)].note, HasSubstr("Holder"));
}

TEST(Wakers, InterpreterLockThatTimedOut_IsStillTheLock) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Wait(wire::OsCall::kPythonGil, 10, 90, kLock, -110).Marker(100);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostGil), 80);
}

// A consumer that waits on a socket until 90 us and a producer of another process that sends at 80 us.
class TwoProcesses : public ::testing::Test {
 protected:
  void Run(bool identities) {
    AnalysisOptions options;
    options.host_wakes = &wakes;
    ProcessInfo producer, consumer;
    producer.identity.pid = 70, producer.process_name = "server";
    consumer.identity.pid = 71;
    TraceBuilder sends, waits;
    sends.Thread("Loop").Wait(wire::OsCall::kSend, 80, 82, wire::FdObject(5), 8);
    waits.Thread("Main").Marker(0).Wait(wire::OsCall::kRead, 10, 90, wire::FdObject(3), 8).Marker(100);
    auto first = ProcessAnalysis::Create(producer, &sends, options);
    auto second = ProcessAnalysis::Create(consumer, &waits, options);
    if (identities) {
      first->OnIdentity({wire::FdObject(5), "unix 2", {"unix 1"}});
      second->OnIdentity({wire::FdObject(3), "unix 1", {"unix 2"}});
    }
    waits.Feed(second.get());
    sends.Feed(first.get());
    second->Finish();
    report = second->Report(0, 0);
  }

  HostWakes wakes;
  ProcessReport report;
};

TEST_F(TwoProcesses, SocketWithKnownEnds_NamesTheSender) {
  Run(true);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostWakeup)].ns, 10'000);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].ns, 70'000);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].note, "server[70] Loop, waited for in read");
}

TEST_F(TwoProcesses, SocketWithUnknownEnds_IsIpcAsBefore) {
  Run(false);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostWakeup)].ns, 0);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].ns, 80'000);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].note, "read, Main");
}

}  // namespace
}  // namespace stallscope
