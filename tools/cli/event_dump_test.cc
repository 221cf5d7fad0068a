#include "tools/cli/event_dump.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace stallscope::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeNames : public ProcessNames {
 public:
  std::string_view String(StringId id) const override { return id == 1 ? "_Z3addPf" : id == 2 ? "two\nlines\xff" : ""; }
  std::string_view CallName(wire::CudaDomain, uint16_t) const override { return "cudaDeviceSynchronize_v3020"; }
  const ThreadInfo* Thread(ThreadIndex thread) const override { return thread == 1 ? &thread_ : nullptr; }

 private:
  ThreadInfo thread_{1, 501, "Sampler", 0};
};

WaitEvent Wait(HostNs begin, HostNs end) {
  WaitEvent event{};
  event.thread = 1, event.call = wire::OsCall::kPthreadMutexLock, event.begin = begin, event.end = end,
  event.object = 0xabc0;
  return event;
}

ProcessInfo Process(uint32_t pid) {
  ProcessInfo process;
  process.identity.pid = pid;
  process.process_name = "engine";
  process.agent_start = 0;
  return process;
}

std::vector<int64_t> Begins(const std::string& json_lines) {
  std::vector<int64_t> begins;
  std::istringstream lines(json_lines);
  for (std::string line; std::getline(lines, line);)
    begins.push_back(nlohmann::json::parse(line)["begin_ns"].get<int64_t>());
  return begins;
}

TEST(EventDump, EndOrderedEvents_ComeOutByBegin) {
  FakeNames names;
  std::ostringstream out;
  EventDump dump(&out, DumpFormat::kJson, 0);
  EventSink* sink = dump.OnProcess(Process(7), &names);
  sink->OnWait(Wait(200, 300));
  sink->OnWait(Wait(100, 400));
  dump.Finish();
  EXPECT_THAT(Begins(out.str()), ElementsAre(0, 100, 200));
  EXPECT_EQ(dump.out_of_order(), 0u);
}

TEST(EventDump, FurtherBackThanTheWindow_IsWrittenAndCounted) {
  FakeNames names;
  std::ostringstream out;
  EventDump dump(&out, DumpFormat::kJson, 0, /*window_events=*/2);
  EventSink* sink = dump.OnProcess(Process(7), &names);
  for (HostNs begin : {500, 600, 700, 50}) sink->OnWait(Wait(begin, 800));
  dump.Finish();
  EXPECT_EQ(Begins(out.str()).size(), 5u);
  EXPECT_EQ(dump.out_of_order(), 1u);
}

TEST(EventDump, Text_NamesThreadCallAndDuration) {
  FakeNames names;
  std::ostringstream out;
  EventDump dump(&out, DumpFormat::kText, 0);
  EventSink* sink = dump.OnProcess(Process(7), &names);
  sink->OnWait(Wait(1'500'000'000, 1'500'012'300));
  CudaCallEvent call{};
  call.thread = 1, call.begin = 1'600'000'000, call.end = 1'600'000'500;
  sink->OnCudaCall(call);
  GpuOpEvent kernel{};
  kernel.kind = wire::GpuOpKind::kKernel, kernel.name = 1, kernel.begin = 1'700'000'000, kernel.end = 1'700'001'000;
  sink->OnGpuOp(kernel);
  dump.Finish();
  EXPECT_THAT(
      out.str(),
      HasSubstr("     1.500000000  7/501 Sampler  wait  pthread_mutex_lock  12.3 us  object=0xabc0  result=0\n"));
  EXPECT_THAT(out.str(), HasSubstr("cuda  cudaDeviceSynchronize_v3020  500 ns"));
  EXPECT_THAT(out.str(), HasSubstr("gpu  add(float*)  1.00 us  op=kernel"));
}

TEST(EventDump, ProcessFilter_LeavesOthersOut) {
  FakeNames names;
  std::ostringstream out;
  EventDump dump(&out, DumpFormat::kText, 8);
  dump.OnProcess(Process(7), &names)->OnWait(Wait(1, 2));
  dump.OnProcess(Process(8), &names)->OnWait(Wait(3, 4));
  dump.Finish();
  EXPECT_THAT(out.str(), testing::Not(HasSubstr("  7")));
  EXPECT_EQ(dump.events(), 2u);  // the process line and one wait
}

TEST(EventDump, NamesOfTheProgram_CannotBreakALine) {
  FakeNames names;
  for (DumpFormat format : {DumpFormat::kText, DumpFormat::kJson}) {
    std::ostringstream out;
    EventDump dump(&out, format, 0);
    RangeEvent range{};
    range.text = 2;
    dump.OnProcess(Process(7), &names)->OnRange(range);
    dump.Finish();
    const std::string text = out.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  }
}

TEST(EventDump, State_IsToldByItsName) {
  std::ostringstream out;
  EventDump dump(&out, DumpFormat::kText, 0);
  const FakeNames names;
  EventSink* sink = dump.OnProcess(Process(7), &names);
  StateEvent event{};
  event.what = 10;
  sink->OnState(event);
  event.what = 999;
  sink->OnState(event);
  dump.Finish();
  EXPECT_THAT(out.str(), HasSubstr("state  streaming  what=10"));
  EXPECT_THAT(out.str(), HasSubstr("state  state_999  what=999"));
}

}  // namespace
}  // namespace stallscope::cli
