// How many events a second one core takes, from socket bytes to closed steps: split, parse, decode, analyse, write the
// capture.
//
// The stream is a made-up decode loop with a GPU: each step launches 24 kernels, copies the token ids back,
// synchronizes the stream and hands over to a second thread (waits and wake-ups); calls come from one thread's ring,
// GPU records from another's. It is made once, before the clock runs. Items are events.
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "collector/budget/process_analysis.h"
#include "collector/capture/capture.h"
#include "collector/ingest/frame_splitter.h"
#include "collector/ingest/process_stream.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr int kKernelsPerStep = 24;
constexpr int kStepsPerBatch = 20;
constexpr int kBatches = 200;
constexpr int64_t kStepNs = 2'000'000;
constexpr int64_t kStartNs = 1'000'000'000;

struct Stream {
  std::string bytes;
  uint64_t events = 0;
  v1::Hello hello;
};

void AppendFrame(const v1::Frame& frame, std::string* bytes) {
  const std::string body = frame.SerializeAsString();
  const auto length = static_cast<uint32_t>(body.size());
  bytes->append(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes->append(body);
}

void AddCall(v1::CudaCalls* calls, int64_t* before, int64_t begin, uint64_t duration, wire::CudaCallClass call_class,
             int32_t correlation_delta, uint64_t argument, wire::CopyKind kind) {
  calls->add_begin_delta_ns(begin - *before);
  *before = begin;
  calls->add_duration_ns(duration);
  calls->add_call(211);
  calls->add_call_class(static_cast<uint32_t>(call_class));
  calls->add_correlation_delta(correlation_delta);
  calls->add_stream(1);
  calls->add_argument(argument);
  calls->add_copy_kind(static_cast<uint32_t>(kind));
}

void AddOp(v1::GpuOps* ops, int64_t* before, int64_t begin, uint64_t duration, wire::GpuOpKind kind,
           int32_t correlation_delta, uint32_t name, uint64_t argument, wire::CopyKind copy_kind) {
  ops->add_begin_delta_ns(begin - *before);
  *before = begin;
  ops->add_duration_ns(duration);
  ops->add_kind(static_cast<uint32_t>(kind));
  ops->add_correlation_delta(correlation_delta);
  ops->add_name(name);
  ops->add_stream(7);
  ops->add_context(1);
  ops->add_argument(argument);
  ops->add_copy_kind(static_cast<uint32_t>(copy_kind));
}

void AddHandOver(v1::Waits* waits, v1::Wakes* wakes, int64_t* wait_before, int64_t* wake_before, int64_t begin) {
  waits->add_begin_delta_ns(begin - *wait_before);
  *wait_before = begin;
  waits->add_duration_ns(30'000);
  waits->add_call(static_cast<uint32_t>(wire::OsCall::kPthreadCondWait));
  waits->add_object(2);
  wakes->add_begin_delta_ns(begin + 40'000 - *wake_before);
  *wake_before = begin + 40'000;
  wakes->add_call(static_cast<uint32_t>(wire::OsCall::kPthreadCondSignal));
  wakes->add_object(3);
}

Stream MakeStream() {
  Stream stream;
  stream.hello.set_version_major(1);
  stream.hello.set_pid(1);
  stream.hello.set_monotonic_ns(kStartNs);
  stream.hello.set_streaming(true);
  v1::Frame names;
  const char* kernels[] = {"ampere_sgemm_128x64_tn", "flash_attn_ext_f16", "rms_norm_f32", "quantize_q8_1"};
  for (uint32_t i = 0; i < 4; ++i) {
    auto* string = names.mutable_intern()->add_strings();
    string->set_id(i + 1);
    string->set_text(kernels[i]);
    auto* object = names.mutable_intern()->add_objects();
    object->set_id(i + 1);
    object->set_value(0x7f0000000000 + i * 64);
  }
  for (uint32_t i = 1; i <= 2; ++i) {
    auto* thread = names.mutable_intern()->add_threads();
    thread->set_id(i);
    thread->set_tid(100 + i);
    thread->set_name(i == 1 ? "main" : "cupti");
    thread->set_begin_ns(kStartNs);
  }
  AppendFrame(names, &stream.bytes);

  int64_t now = kStartNs + kStepNs;
  uint64_t call_records = 0, op_records = 0;
  uint32_t correlation = 0;
  for (int b = 0; b < kBatches; ++b) {
    v1::Frame call_frame, op_frame;
    v1::Batch* calls = call_frame.mutable_batch();
    v1::Batch* ops = op_frame.mutable_batch();
    for (v1::Batch* batch : {calls, ops}) batch->set_base_ns(static_cast<uint64_t>(now));
    calls->set_thread(1);
    ops->set_thread(2);
    int64_t call_before = now, op_before = now, wait_before = now, wake_before = now;
    int32_t first_delta = static_cast<int32_t>(correlation) + 1;
    int32_t call_delta = first_delta, op_delta = first_delta;
    for (int s = 0; s < kStepsPerBatch; ++s) {
      AddHandOver(calls->mutable_waits(), calls->mutable_wakes(), &wait_before, &wake_before, now);
      int64_t host = now + 50'000, device = now + 60'000;
      for (int k = 0; k < kKernelsPerStep; ++k) {
        AddCall(calls->mutable_cuda_calls(), &call_before, host, 4'000, wire::CudaCallClass::kLaunch, call_delta, 0,
                wire::CopyKind::kHostToHost);
        AddOp(ops->mutable_gpu_ops(), &op_before, device, 55'000, wire::GpuOpKind::kKernel, op_delta,
              static_cast<uint32_t>(k % 4 + 1), 0, wire::CopyKind::kHostToHost);
        call_delta = op_delta = 1;
        ++correlation;
        host += 6'000;
        device += 58'000;
      }
      AddCall(calls->mutable_cuda_calls(), &call_before, host, 5'000, wire::CudaCallClass::kCopyAsync, 1, 128,
              wire::CopyKind::kDeviceToHost);
      AddOp(ops->mutable_gpu_ops(), &op_before, device, 2'000, wire::GpuOpKind::kCopy, 1, 0, 128,
            wire::CopyKind::kDeviceToHost);
      ++correlation;
      AddCall(calls->mutable_cuda_calls(), &call_before, host + 6'000, static_cast<uint64_t>(device + 20'000 - host),
              wire::CudaCallClass::kSyncStream, 1, 0, wire::CopyKind::kHostToHost);
      op_delta = 2;
      ++correlation;
      now += kStepNs;
    }
    const int call_rows = calls->waits().call_size() + calls->wakes().call_size() + calls->cuda_calls().call_size();
    calls->set_first_record(call_records);
    calls->set_record_count(static_cast<uint32_t>(call_rows));
    call_records += static_cast<uint64_t>(call_rows);
    ops->set_first_record(op_records);
    ops->set_record_count(static_cast<uint32_t>(ops->gpu_ops().kind_size()));
    op_records += static_cast<uint64_t>(ops->gpu_ops().kind_size());
    AppendFrame(call_frame, &stream.bytes);
    AppendFrame(op_frame, &stream.bytes);
  }
  stream.events = call_records + op_records;
  return stream;
}

const Stream& TheStream() {
  static const Stream stream = MakeStream();
  return stream;
}

// How much comes with one read of a socket; the splitter has more room after a large frame.
constexpr size_t kReadBytes = 16 * 1024;

// One pass over the whole stream. `analysis` and `capture` may be nullptr.
void Pass(const Stream& stream, EventSink* sink, ProcessAnalysis* analysis, ingest::ProcessStream* process,
          CaptureWriter* capture, google::protobuf::Arena* arena, bool commit = false) {
  process->SetSink(sink);
  ingest::FrameSplitter splitter;
  size_t at = 0;
  HostNs next_advance = kStartNs, now = kStartNs;
  while (at < stream.bytes.size()) {
    const ingest::FrameSplitter::Space space = splitter.Prepare();
    const size_t count = std::min({space.bytes, kReadBytes, stream.bytes.size() - at});
    memcpy(space.data, stream.bytes.data() + at, count);
    splitter.Commit(count);
    at += count;
    while (true) {
      const auto bytes = splitter.Next();
      if (!bytes->has_value()) break;
      arena->Reset();
      auto* frame = google::protobuf::Arena::CreateMessage<v1::Frame>(arena);
      frame->ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size()));
      if (capture != nullptr) capture->AppendSerialized(1, **bytes, 0);
      process->OnFrame(*frame).IgnoreError();
      if (frame->has_batch()) now = static_cast<HostNs>(frame->batch().base_ns());
      if (analysis != nullptr && now >= next_advance) {
        analysis->Advance(now);
        next_advance = now + 250'000'000;
      }
    }
    if (commit) capture->Commit();
  }
  if (analysis != nullptr) analysis->Finish();
}

void Report(benchmark::State& state) {
  const Stream& stream = TheStream();
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(stream.events));
  state.counters["made_up_bytes_per_event"] =
      static_cast<double>(stream.bytes.size()) / static_cast<double>(stream.events);
}

void BM_DecodeOnly(benchmark::State& state) {
  std::vector<char> block(1 << 20);
  google::protobuf::Arena arena(block.data(), block.size());
  for (auto _ : state) {
    ingest::ProcessStream process(1, TheStream().hello);
    EventSink nobody;
    Pass(TheStream(), &nobody, nullptr, &process, nullptr, &arena);
  }
  Report(state);
}
BENCHMARK(BM_DecodeOnly)->Unit(benchmark::kMillisecond);

void BM_WithAttribution(benchmark::State& state) {
  std::vector<char> block(1 << 20);
  google::protobuf::Arena arena(block.data(), block.size());
  uint64_t steps = 0;
  for (auto _ : state) {
    ingest::ProcessStream process(1, TheStream().hello);
    auto analysis = ProcessAnalysis::Create(process.info(), &process.registry(), {});
    Pass(TheStream(), analysis.get(), analysis.get(), &process, nullptr, &arena);
    steps = analysis->Report(0, 0).steps;
  }
  Report(state);
  state.counters["steps"] = static_cast<double>(steps);
}
BENCHMARK(BM_WithAttribution)->Unit(benchmark::kMillisecond);

// `tail`: each read is committed, as the collector does it, so that a kill loses nothing.
void WithCapture(benchmark::State& state, const std::string& path, bool tail) {
  std::vector<char> block(1 << 20);
  google::protobuf::Arena arena(block.data(), block.size());
  uint64_t capture_bytes = 0;
  for (auto _ : state) {
    ingest::ProcessStream process(1, TheStream().hello);
    auto analysis = ProcessAnalysis::Create(process.info(), &process.registry(), {});
    auto capture = CaptureWriter::Create(path);
    if (!capture.ok()) {
      state.SkipWithError(std::string(capture.status().message()).c_str());
      break;
    }
    Pass(TheStream(), analysis.get(), analysis.get(), &process, capture->get(), &arena, tail);
    (*capture)->Close().IgnoreError();
    capture_bytes = (*capture)->bytes_written();
    if (path != "/dev/null") unlink(path.c_str());
  }
  Report(state);
  state.counters["file_bytes_per_event"] = static_cast<double>(capture_bytes) / static_cast<double>(TheStream().events);
}

std::string FilePath() {
  const char* folder = getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/collector-bench-" + std::to_string(getpid()) +
         ".stallcap";
}

void BM_WithAttributionAndCapture(benchmark::State& state) { WithCapture(state, "/dev/null", false); }
BENCHMARK(BM_WithAttributionAndCapture)->Unit(benchmark::kMillisecond);

void BM_WithAttributionAndCaptureFile(benchmark::State& state) { WithCapture(state, FilePath(), false); }
BENCHMARK(BM_WithAttributionAndCaptureFile)->Unit(benchmark::kMillisecond);

void BM_WithAttributionAndCaptureFileAndTail(benchmark::State& state) { WithCapture(state, FilePath(), true); }
BENCHMARK(BM_WithAttributionAndCaptureFileAndTail)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stallscope
