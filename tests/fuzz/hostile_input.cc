#include "tests/fuzz/hostile_input.h"

#include <google/protobuf/arena.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collector/budget/process_analysis.h"
#include "collector/capture/capture.h"
#include "collector/capture/capture_index.h"
#include "collector/ingest/frame_splitter.h"
#include "collector/ingest/process_stream.h"
#include "collector/ingest/ring_drain.h"
#include "collector/ingest/shm_image.h"
#include "collector/serve/budget_json.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::fuzz {
namespace {

// A process as the collector keeps it.
struct Process {
  explicit Process(const v1::Hello& hello)
      : stream(1, hello), analysis(ProcessAnalysis::Create(stream.info(), &stream.registry(), {})) {
    stream.SetSink(analysis.get());
    stream.SetLatest(kNow + 10'000'000'000);
  }
  uint64_t End() {
    analysis->Advance(kNow);
    analysis->Finish();
    BudgetReport report;
    report.processes.push_back(analysis->Report(0, kNow));
    report.processes.push_back(analysis->Report(10'000'000'000, kNow));
    BudgetReportToJson(report);
    return stream.counts().events;
  }
  static constexpr HostNs kNow = 100'000'000'000;
  ingest::ProcessStream stream;
  std::unique_ptr<ProcessAnalysis> analysis;
};

class AnalysisSink : public ProcessSink {
 public:
  EventSink* OnProcess(const ProcessInfo& info, const ProcessNames* names) override {
    // A file may name thousands of processes; a few show all there is.
    if (analyses_.size() >= 8) return &nobody_;
    analyses_.push_back(ProcessAnalysis::Create(info, names, {}));
    return analyses_.back().get();
  }
  void End() {
    BudgetReport report;
    for (const auto& analysis : analyses_) {
      analysis->Finish();
      report.processes.push_back(analysis->Report(0, Process::kNow));
    }
    BudgetReportToJson(report);
  }

 private:
  std::vector<std::unique_ptr<ProcessAnalysis>> analyses_;
  EventSink nobody_;
};

}  // namespace

uint64_t ReadHostileStream(std::string_view bytes) {
  ingest::FrameSplitter splitter;
  google::protobuf::Arena arena;
  std::unique_ptr<Process> process;
  while (!bytes.empty()) {
    const ingest::FrameSplitter::Space space = splitter.Prepare();
    const size_t count = std::min(space.bytes, bytes.size());
    memcpy(space.data, bytes.data(), count);
    splitter.Commit(count);
    bytes.remove_prefix(count);
    while (true) {
      const auto next = splitter.Next();
      if (!next.ok()) return process != nullptr ? process->End() : 0;
      if (!next->has_value()) break;
      arena.Reset();
      auto* frame = google::protobuf::Arena::CreateMessage<v1::Frame>(&arena);
      if (!frame->ParseFromArray((*next)->data(), static_cast<int>((*next)->size()))) {
        return process != nullptr ? process->End() : 0;
      }
      if (process == nullptr) {
        if (!frame->has_hello() || !ingest::CheckHello(frame->hello()).ok()) return 0;
        process = std::make_unique<Process>(frame->hello());
      }
      process->stream.OnFrame(*frame).IgnoreError();
    }
  }
  return process != nullptr ? process->End() : 0;
}

uint64_t ReadHostileCapture(std::string_view bytes) {
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  AnalysisSink sink;
  const auto summary = ReadCapture(path, &sink);
  capture::LoadCaptureIndex(path).status().IgnoreError();
  close(fd);
  sink.End();
  return summary.ok() ? summary->events : 0;
}

uint64_t ReadHostileMemory(std::string_view bytes) {
  std::unique_ptr<char, decltype(&free)> copy(static_cast<char*>(aligned_alloc(64, (bytes.size() + 63) / 64 * 64)),
                                              free);
  memcpy(copy.get(), bytes.data(), bytes.size());
  auto image = ingest::ShmImage::Over(copy.get(), bytes.size(), /*writable=*/true);
  if (!image.ok()) return 0;
  v1::Hello hello;
  hello.set_version_major(1);
  Process process(hello);
  ingest::RingDrain drain(1, &process.stream.registry(), image->get(), [&process](const v1::Frame& frame) {
    if (!process.stream.OnFrame(frame).ok()) abort();  // our own packer breaks no contract
  });
  drain.DrainLive();
  for (uint32_t slot = 0; slot < (*image)->slots_used(); ++slot) (*image)->ReadCurrentWait(slot);
  for (const uint32_t id : {0u, 1u, 2u, 15u, 16u, ~0u}) (*image)->ReadString(id);
  drain.ReadTotals();
  drain.DrainFinal();
  return process.End();
}

}  // namespace stallscope::fuzz
