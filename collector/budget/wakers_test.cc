// Waits whose end needs more than a wake-up of the same process: joins, the interpreter lock, other processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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

TEST_F(TwoProcesses, SocketWithKnownEnds_IsWhatTheSenderDid) {
  Run(true);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostWakeup)].ns, 10'000);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].ns, 0);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostCpu)].ns, 90'000) << "80 of the sender, 10 after the wait";
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostCpu)].note, "server[70] Loop, waited for in read");
}

TEST_F(TwoProcesses, SocketWithUnknownEnds_IsIpcAsBefore) {
  Run(false);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostWakeup)].ns, 0);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].ns, 80'000);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostIpc)].note, "read, Main");
}

// Several processes on one host: the first one's steps are looked at.
class Host {
 public:
  TraceBuilder& Add(uint32_t pid, std::string name) {
    traces_.push_back(std::make_unique<TraceBuilder>());
    ProcessInfo process;
    process.identity.pid = pid;
    process.process_name = std::move(name);
    AnalysisOptions options;
    options.host_wakes = &wakes_;
    analyses_.push_back(ProcessAnalysis::Create(process, traces_.back().get(), options));
    return *traces_.back();
  }
  // `fd` of one process and `other_fd` of another are the two ends of one socket.
  void Connect(size_t process, int fd, size_t other, int other_fd) {
    const std::string name = "unix " + std::to_string(next_name_++),
                      other_name = "unix " + std::to_string(next_name_++);
    analyses_[process]->OnIdentity({wire::FdObject(fd), name, {other_name}});
    analyses_[other]->OnIdentity({wire::FdObject(other_fd), other_name, {name}});
  }
  ProcessAnalysis& operator[](size_t process) { return *analyses_[process]; }
  ProcessReport Finish() {
    for (size_t i = 0; i < traces_.size(); ++i) traces_[i]->Feed(analyses_[i].get());
    for (const auto& analysis : analyses_) analysis->Finish();
    return analyses_[0]->Report(0, 0);
  }

 private:
  HostWakes wakes_;
  std::vector<std::unique_ptr<TraceBuilder>> traces_;
  std::vector<std::unique_ptr<ProcessAnalysis>> analyses_;
  int next_name_ = 1;
};

int64_t Us(const ProcessReport& report, Line line) { return report.lines[static_cast<int>(line)].ns / 1000; }
std::string Note(const ProcessReport& report, Line line) { return report.lines[static_cast<int>(line)].note; }

// The worked example of docs/budget.md section 9: an engine that waits for its API server.
TEST(WalksIntoOtherProcesses, WorkedExample_GivesTheNumbersOfTheDefinition) {
  Host host;
  TraceBuilder& engine = host.Add(71, "engine");
  TraceBuilder& server = host.Add(70, "server");
  engine.Thread("Main").Marker(0).EpollWait(0, 310, 3).Launch(340, 350, 1).StreamSync(360, 905).Marker(1000);
  engine.Gpu().Kernel(350, 900, 1, "gemm");
  server.Thread("Loop").MutexLock(50, 100, kLock).Wait(wire::OsCall::kSend, 300, 302, wire::FdObject(5), 8);
  server.Thread("Tokenizer").Unlock(95, kLock);
  host.Connect(0, 3, 1, 5);
  const ProcessReport report = host.Finish();
  EXPECT_EQ(Us(report, Line::kGpuGemm), 550);
  EXPECT_EQ(Us(report, Line::kHostLaunch), 10);
  EXPECT_EQ(Us(report, Line::kHostWakeup), 20) << "300-310 and 900-905 in the engine, 95-100 in the server";
  EXPECT_EQ(Us(report, Line::kHostCpu), 420) << "engine 30 and 95, the server's Loop 200, its Tokenizer 95";
  EXPECT_EQ(Us(report, Line::kHostIpc), 0);
  EXPECT_EQ(report.wall_ns, 1'000'000);
}

TEST(WalksIntoOtherProcesses, WhatTheOtherWaitedFor_IsItsLineAndNamesItsThread) {
  Host host;
  TraceBuilder& engine = host.Add(71, "engine");
  TraceBuilder& server = host.Add(70, "server");
  engine.Thread("Main").Marker(0).Wait(wire::OsCall::kRead, 0, 910, wire::FdObject(3), 8).Marker(1000);
  server.Thread("Loop").Sleep(100, 880).Wait(wire::OsCall::kSend, 900, 902, wire::FdObject(5), 8);
  host.Connect(0, 3, 1, 5);
  const ProcessReport report = host.Finish();
  EXPECT_EQ(Us(report, Line::kHostSleep), 780);
  EXPECT_EQ(Note(report, Line::kHostSleep), "server[70] Loop, waited for in read");
  EXPECT_EQ(Us(report, Line::kHostCpu), 210);
}

TEST(WalksIntoOtherProcesses, AThirdProcess_SaysItsOwnName) {
  Host host;
  TraceBuilder& engine = host.Add(71, "engine");
  TraceBuilder& server = host.Add(70, "server");
  TraceBuilder& client = host.Add(69, "client");
  engine.Thread("Main").Marker(0).Wait(wire::OsCall::kRead, 0, 910, wire::FdObject(3), 8).Marker(1000);
  server.Thread("Loop")
      .Wait(wire::OsCall::kRecv, 10, 810, wire::FdObject(9), 8)
      .Wait(wire::OsCall::kSend, 900, 902, wire::FdObject(5), 8);
  client.Thread("Asks").Sleep(0, 790).Wait(wire::OsCall::kSend, 800, 801, wire::FdObject(4), 8);
  host.Connect(0, 3, 1, 5);
  host.Connect(1, 9, 2, 4);
  const ProcessReport report = host.Finish();
  EXPECT_EQ(Us(report, Line::kHostSleep), 790);
  EXPECT_EQ(Note(report, Line::kHostSleep), "client[69] Asks, waited for in read");
  EXPECT_EQ(Us(report, Line::kHostWakeup), 20);
  EXPECT_EQ(Us(report, Line::kHostCpu), 190);
}

TEST(WalksIntoOtherProcesses, TwoThatSendToAndFro_EndAfterSixtyFourHops) {
  Host host;
  TraceBuilder& engine = host.Add(71, "engine");
  TraceBuilder& server = host.Add(70, "server");
  engine.Thread("Main").Marker(0);
  for (int i = 0; i < 100; ++i) {
    const double at = i * 10;
    engine.Thread("Main").Wait(wire::OsCall::kRead, at, at + 6, wire::FdObject(3), 8);
    engine.Thread("Main").Wait(wire::OsCall::kSend, at + 7, at + 8, wire::FdObject(3), 8);
    server.Thread("Loop").Wait(wire::OsCall::kSend, at + 5, at + 5.5, wire::FdObject(5), 8);
    server.Thread("Loop").Wait(wire::OsCall::kRead, at + 6, at + 9, wire::FdObject(5), 8);
  }
  engine.Thread("Main").Marker(1000);
  host.Connect(0, 3, 1, 5);
  const ProcessReport report = host.Finish();
  int64_t sum_ns = 0;
  for (const LineReport& line : report.lines) sum_ns += line.ns;
  EXPECT_EQ(sum_ns, 1'000'000);
  EXPECT_GT(Us(report, Line::kHostWakeup), 50);
  EXPECT_GT(Us(report, Line::kHostIpc), 0) << "after the last hop a wait is a wait again";
}

TEST(WalksIntoOtherProcesses, WhereTheOtherKnowsNothing_TheWaitIsAWait) {
  Host host;
  TraceBuilder& engine = host.Add(71, "engine");
  TraceBuilder& server = host.Add(70, "server");
  engine.Thread("Main").Marker(0).Wait(wire::OsCall::kRead, 100, 910, wire::FdObject(3), 8).Marker(1000);
  server.Thread("Loop").Lost(300, 500, 7).Wait(wire::OsCall::kSend, 900, 902, wire::FdObject(5), 8);
  host.Connect(0, 3, 1, 5);
  const ProcessReport report = host.Finish();
  EXPECT_EQ(Us(report, Line::kUnknownLost), 200) << "the other's records of that time were lost";
  EXPECT_EQ(Us(report, Line::kHostCpu), 790);
}

// The engine's long step keeps what the server did in its time, though the server's own steps are long over.
TEST(WalksIntoOtherProcesses, LongStep_StillFindsWhatTheOtherDid) {
  Host host;
  TraceBuilder& engine = host.Add(71, "engine");
  TraceBuilder& server = host.Add(70, "server");
  constexpr double kLate = 4'000'000;
  engine.Thread("Main").Marker(0);
  server.Thread("Loop").Wait(wire::OsCall::kSend, 10, 11, wire::FdObject(5), 8);
  engine.Thread("Main").Wait(wire::OsCall::kRead, 5, 15, wire::FdObject(3), 8).Marker(20);
  server.Thread("Loop").Sleep(100, kLate - 100).Wait(wire::OsCall::kSend, kLate, kLate + 1, wire::FdObject(5), 8);
  engine.Thread("Main").Wait(wire::OsCall::kRead, 30, kLate + 10, wire::FdObject(3), 8).Marker(kLate + 20);
  host.Connect(0, 3, 1, 5);
  // Live: both are told what they know every 100 ms, and forget what nobody needs.
  for (double until = 100'000; until <= kLate + 3'000'000; until += 500'000) {
    server.FeedOnce(&host[1], until);
    engine.FeedOnce(&host[0], until);
    host[1].Advance(TraceBuilder::At(until));
    host[0].Advance(TraceBuilder::At(until));
  }
  const ProcessReport report = host[0].Report(0, 0);
  EXPECT_EQ(report.steps, 2u);
  EXPECT_EQ(Us(report, Line::kHostSleep), 4'000'000 - 200);
}

TEST(Files, ReadOfAFile_IsIo_AlsoWhereThatBecameKnownLater) {
  TraceBuilder trace;
  trace.Thread("Main")
      .Marker(0)
      .Wait(wire::OsCall::kRead, 10, 40, wire::FdObject(3), 4096)
      .Wait(wire::OsCall::kWrite, 50, 60, wire::FdObject(3), 8)
      .Wait(wire::OsCall::kRead, 70, 80, wire::FdObject(4), 8)
      .Marker(100);
  auto analysis = ProcessAnalysis::Create(ProcessInfo{}, &trace, AnalysisOptions{});
  trace.Feed(analysis.get());
  analysis->OnIdentity({wire::FdObject(3), kDiskFile, {}});
  analysis->Finish();
  const ProcessReport report = analysis->Report(0, 0);
  EXPECT_EQ(Us(report, Line::kHostIo), 40);
  EXPECT_EQ(Us(report, Line::kHostIpc), 10);
}

TEST(Files, NumberUsedAgainForASocket_IsIpcAgain) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Wait(wire::OsCall::kRead, 10, 40, wire::FdObject(3), 4096).Marker(100);
  auto analysis = ProcessAnalysis::Create(ProcessInfo{}, &trace, AnalysisOptions{});
  analysis->OnIdentity({wire::FdObject(3), kDiskFile, {}});
  analysis->OnIdentity({wire::FdObject(3), "unix 7", {"unix 8"}});
  trace.Feed(analysis.get());
  analysis->Finish();
  EXPECT_EQ(Us(analysis->Report(0, 0), Line::kHostIo), 0);
}

}  // namespace
}  // namespace stallscope
