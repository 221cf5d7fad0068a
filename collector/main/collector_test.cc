// The collector against real sockets on this machine, with agents made by hand. Waits are for conditions, with a limit.
#include "collector/main/collector.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "collector/capture/capture.h"
#include "collector/ingest/event_log.h"
#include "collector/ingest/shm_builder.h"
#include "collector/main/collector_impl.h"
#include "collector/main/test_agent.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class CollectorTest : public ::testing::Test {
 protected:
  CollectorTest() : folder("/tmp/stallscope-collector-test-" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    options.socket_path = folder + "/c.sock";
    options.capture_path = folder + "/run.stallcap";
  }
  ~CollectorTest() override {
    collector.reset();
    std::filesystem::remove_all(folder);
  }

  void Start() {
    auto started = StartCollector(
        options, [](const ProcessInfo&, const ProcessNames*) { return std::make_unique<CountingAnalysis>(); });
    ASSERT_TRUE(started.ok()) << started.status();
    collector = *std::move(started);
  }
  uint64_t Waits() {
    uint64_t waits = 0;
    for (const ProcessReport& process : collector->Report(0).processes) waits += process.health.events;
    return waits;
  }

  const std::string folder;
  CollectorOptions options;
  std::unique_ptr<Collector> collector;
};

TEST_F(CollectorTest, MoreEndedProcessesThanAreKept_AreSaid) {
  Start();
  for (int i = 0; i < 70; ++i) {
    TestAgent agent(options.socket_path);
    agent.SendHello(3'000'000'000 + static_cast<uint32_t>(i));
    v1::Frame goodbye;
    goodbye.mutable_goodbye();
    agent.Send(goodbye);
  }
  EXPECT_TRUE(Eventually([this] {
    for (const std::string& notice : collector->Totals().notices) {
      if (notice.find("6 ended processes are not listed any more") != std::string::npos) return true;
    }
    return false;
  }));
}

TEST_F(CollectorTest, ManyProcesses_EachHasItsReport) {
  Start();
  std::vector<std::unique_ptr<TestAgent>> agents;
  for (uint32_t i = 0; i < 20; ++i) {
    agents.push_back(std::make_unique<TestAgent>(options.socket_path));
    agents.back()->SendHello(100 + i);
    agents.back()->SendWaits(static_cast<int>(i) + 1, 0);
  }
  ASSERT_TRUE(Eventually([&] { return Waits() == 210; }));
  EXPECT_EQ(collector->Report(0).processes.size(), 20u);
  EXPECT_EQ(collector->Totals().processes_seen, 20u);
  collector->Stop();
  EXPECT_EQ(Waits(), 210u);
  ingest::EventLogs logs;
  auto summary = ReadCapture(options.capture_path, &logs);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_FALSE(summary->truncated);
  ASSERT_EQ(logs.logs.size(), 20u);
  size_t waits = 0;
  for (const auto& log : logs.logs) waits += log->Only("wait").size();
  EXPECT_EQ(waits, 210u);
}

TEST_F(CollectorTest, WhatIsInAReport_IsInTheCaptureToo) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1);
  uint64_t sent = 0;
  for (int i = 0; i < 50; ++i) {
    agent.SendWaits(7, sent);
    sent += 7;
    while (Waits() < sent) std::this_thread::yield();
    // No Stop before it: these files are what a kill at this moment would leave.
    ingest::EventLogs logs;
    auto summary = ReadCapture(options.capture_path, &logs);
    ASSERT_TRUE(summary.ok()) << summary.status();
    ASSERT_EQ(logs.logs.size(), 1u);
    ASSERT_EQ(logs.logs[0]->Only("wait").size(), sent) << summary->warning;
    ASSERT_THAT(summary->warning, HasSubstr("is still being written"));
  }
}

TEST_F(CollectorTest, Garbage_ClosesThatConnectionAndNothingElse) {
  Start();
  TestAgent good(options.socket_path);
  good.SendHello(1);
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100, '\xff'),
                                     std::string("\x05\0\0\0abcde", 9), std::string("\0\0\0\0", 4)}) {
    TestAgent bad(options.socket_path);
    bad.SendBytes(garbage);
    bad.ReadControl();  // returns once the collector has closed
  }
  good.SendWaits(3, 0);
  ASSERT_TRUE(Eventually([&] { return Waits() == 3; }));
  EXPECT_THAT(collector->Totals().notices,
              Contains(HasSubstr("4 connections sent something else than Stallscope frames")));
}

TEST_F(CollectorTest, GarbageAfterHello_KeepsWhatCameBefore) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1);
  agent.SendWaits(5, 0);
  agent.SendBytes(std::string("\x03\0\0\0\xff\xff\xff", 7));
  agent.ReadControl();
  EXPECT_EQ(Waits(), 5u);
}

TEST_F(CollectorTest, IdentityFromAProcess_IsNotBelieved) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1);
  v1::Frame frame;
  v1::Intern::Identity* identity = frame.mutable_intern()->add_identities();
  identity->set_value(0x1000);
  identity->set_reaches("unix 1");
  agent.SendBytes(Framed(frame));
  agent.SendWaits(3, 0);
  ASSERT_TRUE(Eventually([&] { return Waits() == 3; }));
  EXPECT_EQ(collector->Report(0).processes.at(0).health.clamped, 0u) << "no identity reached the analysis";
}

TEST_F(CollectorTest, PeerThatDiesInsideAFrame_KeepsTheWholeFrames) {
  Start();
  {
    TestAgent agent(options.socket_path);
    agent.SendHello(1);
    agent.SendWaits(5, 0);
    agent.SendBytes(std::string("\x40\0\0\0half", 8));
  }
  ASSERT_TRUE(Eventually([&] { return Waits() == 5; }));
  ASSERT_TRUE(Eventually([&] { return !collector->Totals().notices.empty(); }));
  EXPECT_THAT(collector->Totals().notices, Contains(HasSubstr("ended inside a frame")));
}

TEST_F(CollectorTest, OtherMajor_IsRefusedNamingBothVersions) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1, true, -1, 2);
  const v1::Control control = agent.ReadControl();
  EXPECT_THAT(control.refused(), HasSubstr("2.0"));
  EXPECT_THAT(control.refused(), HasSubstr("1.1"));
  EXPECT_EQ(collector->Totals().processes_seen, 0u);
  EXPECT_THAT(collector->Totals().notices, Contains(HasSubstr("refused")));
}

TEST_F(CollectorTest, AnotherUser_IsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be two users";
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  const std::string own_folder = folder + "/nobody";
  options.socket_path = own_folder + "/c.sock";
  options.capture_path.clear();
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(1);
    auto started = StartCollector(options, nullptr);
    if (!started.ok() || write(ready[1], "x", 1) != 1) _exit(2);
    pause();
  }
  close(ready[1]);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  TestAgent agent(options.socket_path);
  EXPECT_THAT(agent.ReadControl().refused(), HasSubstr("you are uid 0"));
  kill(child, SIGKILL);
  int status;
  waitpid(child, &status, 0);
}

TEST_F(CollectorTest, SecondCollectorOnOneAddress_IsToldWhoHasIt) {
  Start();
  CollectorOptions second = options;
  second.capture_path = folder + "/other.stallcap";
  const auto refused = StartCollector(second, nullptr);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("pid " + std::to_string(getpid())));
  TestAgent agent(options.socket_path);  // the first one is as it was
  agent.SendHello(1);
  agent.SendWaits(1, 0);
  EXPECT_TRUE(Eventually([&] { return Waits() == 1; }));
}

TEST_F(CollectorTest, Reconnect_GoesOnWithTheSameProcess) {
  Start();
  {
    TestAgent agent(options.socket_path);
    agent.SendHello(static_cast<uint32_t>(getpid()));
    agent.SendWaits(5, 0);
  }
  TestAgent again(options.socket_path);
  again.SendHello(static_cast<uint32_t>(getpid()));
  again.SendWaits(5, 0);  // sent again: it did not know whether they had arrived
  again.SendWaits(2, 5);
  ASSERT_TRUE(Eventually([&] { return Waits() == 7; }));
  EXPECT_EQ(collector->Totals().processes_seen, 1u);
  EXPECT_EQ(collector->Report(0).processes[0].health.dropped, 0u);
}

ingest::RawRecord Wait(uint64_t begin) {
  ingest::RawRecord record;
  record.kind = wire::RecordKind::kWait;
  record.begin = begin;
  record.duration = 10;
  return record;
}

TEST_F(CollectorTest, ProcessWithoutStreamingThread_IsReadWhileItLives) {
  Start();
  ingest::ShmBuilder memory;
  memory.TakeSlot(0, 77, 2000, "main");
  memory.Commit(0, Wait(3000));
  TestAgent agent(options.socket_path);
  agent.SendHello(1, /*streaming=*/false, memory.DuplicateFd());
  ASSERT_TRUE(Eventually([&] { return Waits() == 1; }));
  for (int i = 0; i < 40; ++i) {
    memory.Commit(0, Wait(4000 + static_cast<uint64_t>(i)));
    // The ring holds 16: go on once it was read.
    ASSERT_TRUE(Eventually([&] { return memory.slot(0)->head.load() - memory.slot(0)->drained.load() < 16; }));
  }
  ASSERT_TRUE(Eventually([&] { return Waits() == 41; }));
  collector->Stop();
  ingest::EventLogs logs;
  ASSERT_TRUE(ReadCapture(options.capture_path, &logs).ok());
  EXPECT_EQ(logs.logs.at(0)->Only("wait").size(), 41u);
}

TEST_F(CollectorTest, KilledProcess_LosesNothingThatWasCommitted) {
  Start();
  ingest::ShmBuilder memory;
  memory.TakeSlot(0, 77, 2000, "main");
  for (uint64_t i = 0; i < 10; ++i) memory.Commit(0, Wait(3000 + i));
  memory.header()->heartbeat_ns.store(1);  // it has a streaming thread
  memory.Block(0, wire::RecordKind::kWait, static_cast<uint16_t>(wire::OsCall::kSemWait), 0x99, 4000);
  // A child that streams four of its ten records and is killed.
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    TestAgent agent(options.socket_path);
    agent.SendHello(static_cast<uint32_t>(getpid()), true, memory.DuplicateFd());
    v1::Frame names;
    auto* thread = names.mutable_intern()->add_threads();
    thread->set_id(1);
    thread->set_tid(77);
    thread->set_begin_ns(2000);
    agent.Send(names);
    agent.SendWaits(4, 0);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_TRUE(Eventually([&] { return Waits() == 4; }));
  kill(child, SIGKILL);
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(Eventually([&] { return collector->Totals().processes_live == 0; }));
  EXPECT_EQ(Waits(), 10u);
  const ProcessReport report = collector->Report(0).processes.at(0);
  EXPECT_EQ(report.pid, static_cast<uint32_t>(child));
  ASSERT_EQ(report.blocked.size(), 1u);  // what it was stuck in when it died
  EXPECT_EQ(report.blocked[0].call, "sem_wait");
  collector->Stop();
  ingest::EventLogs logs;
  ASSERT_TRUE(ReadCapture(options.capture_path, &logs).ok());
  EXPECT_EQ(logs.logs.at(0)->Only("wait").size(), 10u);
  EXPECT_EQ(logs.logs.at(0)->Only("loss").size(), 0u);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CollectorTest, BlockedThread_IsSeenWhileItIsBlocked) {
  Start();
  ingest::ShmBuilder memory;
  memory.TakeSlot(0, 77, 2000, "Sampler");
  memory.Block(0, wire::RecordKind::kWait, static_cast<uint16_t>(wire::OsCall::kPthreadMutexLock), 0x1234,
               static_cast<uint64_t>(NowNs() - 2'000'000'000));
  TestAgent agent(options.socket_path);
  agent.SendHello(1, true, memory.DuplicateFd());
  ASSERT_TRUE(Eventually([&] {
    const BudgetReport report = collector->Report(0);
    return !report.processes.empty() && !report.processes[0].blocked.empty();
  }));
  const BlockedThread blocked = collector->Report(0).processes[0].blocked[0];
  EXPECT_EQ(blocked.call, "pthread_mutex_lock");
  EXPECT_EQ(blocked.thread_name, "Sampler");
  EXPECT_EQ(blocked.object, 0x1234u);
  EXPECT_GE(blocked.for_ns, 2'000'000'000);
}

TEST_F(CollectorTest, HostileMemory_IsANoticeAndTheStreamGoesOn) {
  Start();
  ingest::ShmBuilder memory;
  memory.header()->slots_offset = ~uint64_t{63};
  TestAgent agent(options.socket_path);
  agent.SendHello(1, true, memory.DuplicateFd());
  agent.SendWaits(2, 0);
  TestAgent other(options.socket_path);
  other.SendHello(2, true, open("/dev/null", O_RDWR | O_CLOEXEC));
  other.SendWaits(1, 0);
  ASSERT_TRUE(Eventually([&] { return Waits() == 3; }));
  for (const ProcessReport& process : collector->Report(0).processes) {
    EXPECT_THAT(process.notices, Contains(HasSubstr("shared memory")));
  }
}

TEST_F(CollectorTest, Threads_AreSampledFromProc) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(static_cast<uint32_t>(getpid()));  // the peer is this test, so its threads are looked at
  ASSERT_TRUE(Eventually([&] {
    const BudgetReport report = collector->Report(0);
    return !report.processes.empty() && report.processes[0].health.unmatched >= 2;
  }));
  collector->Stop();
  ingest::EventLogs logs;
  ASSERT_TRUE(ReadCapture(options.capture_path, &logs).ok());
  EXPECT_GE(logs.logs.at(0)->Only("sample").size(), 2u);
  EXPECT_GE(logs.logs.at(0)->Only("thread").size(), 2u);
}

TEST_F(CollectorTest, CuptiTakenAndReturned_IsANoticeForAsLong) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1);
  v1::Frame frame;
  frame.mutable_state()->set_what(v1::State::CUPTI_TAKEN);
  frame.mutable_state()->set_text("nsys");
  agent.Send(frame);
  const auto notices = [&] {
    const BudgetReport report = collector->Report(0);
    return report.processes.empty() ? std::vector<std::string>() : report.processes[0].notices;
  };
  ASSERT_TRUE(Eventually([&] { return !notices().empty(); }));
  EXPECT_THAT(notices(), Contains(HasSubstr("CUPTI is held by nsys")));
  frame.mutable_state()->set_what(v1::State::CUPTI_RETURNED);
  agent.Send(frame);
  EXPECT_TRUE(Eventually([&] { return notices().empty(); }));
}

TEST_F(CollectorTest, FullDisk_StopsTheCaptureAndNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const std::string disk = folder + "/disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=32k") != 0) GTEST_SKIP() << "mount is not allowed here";
  options.capture_path = disk + "/run.stallcap";
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1);
  uint64_t sent = 0;
  v1::Frame names;
  for (uint32_t id = 1; id < 3000; ++id) {  // text that does not compress to nothing
    auto* string = names.mutable_intern()->add_strings();
    string->set_id(id);
    for (int i = 0; i < 4; ++i) string->mutable_text()->append(std::to_string(id * 2654435761u + i * 40503u));
  }
  agent.Send(names);
  EXPECT_TRUE(Eventually([&] {
    agent.SendWaits(500, sent);
    sent += 500;
    return !collector->Totals().capture_status.ok();
  }));
  agent.SendWaits(500, sent);
  sent += 500;
  EXPECT_TRUE(Eventually([&] { return Waits() == sent; }));  // the live side goes on
  const absl::Status status = collector->Totals().capture_status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left"));
  collector->Stop();
  ingest::EventLogs logs;
  auto summary = ReadCapture(options.capture_path, &logs);
  EXPECT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->readable_bytes, summary->file_bytes);  // nothing half-written at its end
  collector.reset();
  umount2(disk.c_str(), MNT_DETACH);
}

TEST_F(CollectorTest, CaptureInAMissingFolder_IsSaidBeforeAnythingStarts) {
  options.capture_path = folder + "/missing/run.stallcap";
  EXPECT_EQ(StartCollector(options, nullptr).status().code(), absl::StatusCode::kUnavailable);
  options.capture_path.clear();
  Start();  // the address was given back
}

TEST_F(CollectorTest, Stop_TakesWhatIsStillInTheSockets) {
  Start();
  TestAgent agent(options.socket_path);
  agent.SendHello(1);
  ASSERT_TRUE(Eventually([&] { return collector->Totals().processes_seen == 1; }));
  for (uint64_t i = 0; i < 50; ++i) agent.SendWaits(10, i * 10);
  collector->Stop();
  EXPECT_EQ(Waits(), 500u);
  EXPECT_FALSE(std::filesystem::exists(options.socket_path));
}

}  // namespace
}  // namespace stallscope
