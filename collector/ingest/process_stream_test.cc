#include "collector/ingest/process_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/event_log.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Hello MakeHello() {
  v1::Hello hello;
  hello.set_version_major(1);
  hello.set_boot_id("boot");
  hello.set_pid(42);
  hello.set_start_ticks(7);
  hello.set_monotonic_ns(1000);
  hello.set_process_name("\xff\xfe");  // not UTF-8: a name is bytes
  return hello;
}

TEST(CheckHello, OtherMajor_NamesBothVersions) {
  v1::Hello hello = MakeHello();
  hello.set_version_major(2);
  hello.set_version_minor(3);
  const absl::Status status = CheckHello(hello);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("2.3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.1"));
}

TEST(CheckHello, NewerMinor_IsWelcome) {
  v1::Hello hello = MakeHello();
  hello.set_version_minor(99);
  EXPECT_TRUE(CheckHello(hello).ok());
}

TEST(IsSameProcess, AfterExec_IsAnother) {
  v1::Hello hello = MakeHello();
  const ProcessInfo before = ToProcessInfo(1, hello);
  EXPECT_TRUE(IsSameProcess(before, ToProcessInfo(2, hello)));
  hello.set_monotonic_ns(2000);
  EXPECT_FALSE(IsSameProcess(before, ToProcessInfo(2, hello)));
}

TEST(ProcessStream, FramesOfEachKind_ReachTheSink) {
  ProcessStream stream(3, MakeHello());
  EventLog log(&stream.registry());
  stream.SetSink(&log);
  v1::Frame frame;
  auto* thread = frame.mutable_intern()->add_threads();
  thread->set_id(1);
  thread->set_tid(42);
  thread->set_name("main");
  thread->set_begin_ns(1000);
  auto* device = frame.mutable_intern()->add_devices();
  device->set_name("simulated GPU");
  device->set_simulated(true);
  ASSERT_TRUE(stream.OnFrame(frame).ok());
  ASSERT_TRUE(stream.OnFrame(frame).ok());  // sent again after a reconnect: the thread is not new
  frame.mutable_state()->set_what(v1::State::CUPTI_TAKEN);
  frame.mutable_state()->set_text("nsys");
  ASSERT_TRUE(stream.OnFrame(frame).ok());
  frame.mutable_health()->set_events(12);
  ASSERT_TRUE(stream.OnFrame(frame).ok());
  frame.mutable_clock()->set_monotonic_ns(5);
  ASSERT_TRUE(stream.OnFrame(frame).ok());
  frame.mutable_goodbye()->set_exec(true);
  ASSERT_TRUE(stream.OnFrame(frame).ok());
  EXPECT_THAT(log.lines(), ElementsAre("thread 1 42 main 1000", "device 0 simulated GPU 1", "device 0 simulated GPU 1",
                                       "state 3 0 0 nsys", "health 0 12 0 0", "clock 5 0 0", "goodbye 0 1"));
  EXPECT_EQ(stream.gpu_name(), "simulated GPU");
  EXPECT_TRUE(stream.info().simulated_gpu);
}

TEST(ProcessStream, FrameOfANewerAgent_IsSkipped) {
  ProcessStream stream(1, MakeHello());
  EventLog log;
  stream.SetSink(&log);
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(std::string("\xd2\x09\x03\x01\x02\x03", 6)));  // field 154, three bytes
  EXPECT_TRUE(stream.OnFrame(frame).ok());
  EXPECT_THAT(log.lines(), IsEmpty());
}

}  // namespace
}  // namespace stallscope::ingest
