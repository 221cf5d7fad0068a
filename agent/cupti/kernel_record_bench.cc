// What a kernel record of CUPTI costs the agent: NVIDIA's own parser alone, then with everything the worker thread does
// (checks, packing, the ring), then with the streaming thread's part (reading the ring, columns), and the bytes that leave.
// Goal: at most 40 ns on top of the parser on the worker, at most 16 bytes on the wire.
//
// CPU time of one thread, with buffers in the cache and in main memory (cold), 64 kernels of 12 names as in the replays of a graph traced node by node. Without a real
// libcupti (STALLSCOPE_REAL_CUPTI) the parser is a stand-in that steps by the record's length, and the label says so.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <vector>

#include "agent/cupti/activity_bytes.h"
#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/buffer_pool.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/shared_memory.h"
#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"
#include "agent/stream/batch_encoder.h"

namespace stallscope::agent {

// What the decoder tells the rest of the agent is not part of the measurement.
void ReportDevice(uint32_t, const char*, const uint8_t*, uint32_t, bool, const DevicePart&) noexcept {}
void ReportContext(const ReportedContext&) noexcept {}
void ReportState(uint32_t, uint64_t, const char*) noexcept {}
CUptiResult CuptiInterface::Timestamp(uint64_t*) noexcept { return CUPTI_ERROR_NOT_SUPPORTED; }

namespace {

constexpr uint32_t kNames = 12, kNodes = 64;
constexpr size_t kRecordBytes = sizeof(CUpti_ActivityKernel10);
constexpr uint64_t kRecords = BufferPool::kBufferBytes / kRecordBytes;
constexpr uint64_t kFilledNs = 20'000'000, kLatestNs = 1'000'000'000;
constexpr size_t kColdBuffers = 256;  // 128 MiB

using NextRecord = CUptiResult (*)(uint8_t*, size_t, CUpti_Activity**);

NextRecord Parser(bool* real) {
  void* library = dlopen(STALLSCOPE_REAL_CUPTI, RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, "cuptiActivityGetNextRecord");
  *real = function != nullptr;
  if (function != nullptr) return reinterpret_cast<NextRecord>(function);
  UseStridesOf130();
  return TestNextRecord;
}

// The agent's memory and decoder, as in a process with CUPTI.
struct Agent {
  SharedMemory memory;
  ActivityDecoder decoder;
  BatchEncoder encoder;
  NextRecord parser = nullptr;
  bool real = false;
  std::vector<std::string> names;
  std::vector<uint8_t> buffer;
  // Copies, so many that each is read from main memory: as when CUPTI has filled it on another core.
  std::vector<std::vector<uint8_t>> cold;
  size_t next_cold = 0;
  std::vector<PlainRecord> records;
  std::vector<uint8_t> output;
  uint64_t first_ns = 0;

  Agent()
      : buffer(BufferPool::kBufferBytes), records(BatchEncoder::kMaxRecords), output(BatchEncoder::kMaxOutputBytes) {
    if (!CreateEpochPage() || CreateSharedMemory(MonotonicNs(), &memory) != nullptr) std::abort();
    StartClock(memory.header, /*use_tsc=*/true);
    UseSharedMemory(memory, 1);
    memory.header->control.store(wire::kControlRecording | 1, std::memory_order_relaxed);
    parser = Parser(&real);
    decoder.SetUp(memory.header->process_start_ns, false);
    decoder.UseParser(parser, ProbeRecordSizes(parser));
    if (!encoder.Create() || !UseBigRing()) std::abort();
    for (uint32_t i = 0; i < kNames; ++i) names.push_back("_ZN7cutlass6Kernel" + std::to_string(i) + "Ev");
    Fill();
    cold.assign(kColdBuffers, buffer);
  }

  // One buffer full: kernels of a few us, 0.4 us apart, in the order of their graph; one launch for all nodes of a replay.
  void Fill() {
    first_ns = MonotonicNs();
    uint64_t at_ns = first_ns;
    CUpti_ActivityKernel10 kernel = {};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.contextId = 1;
    kernel.streamId = 13;
    kernel.graphId = 7;
    for (uint64_t i = 0; i < kRecords; ++i) {
      const uint64_t node = i % kNodes;
      kernel.correlationId = static_cast<uint32_t>(1000 + i / kNodes);
      kernel.graphNodeId = 0x1'0000'0001 + node;
      kernel.name = names[node % kNames].c_str();
      kernel.start = at_ns;
      kernel.end = at_ns + 1500 + node * 40 + i % 7;
      at_ns = kernel.end + 400;
      std::memcpy(buffer.data() + i * kRecordBytes, &kernel, kRecordBytes);
      if (node == 0) decoder.NoteLaunch(kernel.correlationId, Ticks());
    }
  }
  uint8_t* NextCold() { return cold[next_cold++ % kColdBuffers].data(); }
  // Some 10 ms after the first launch; never so late that the records would count as late.
  uint64_t Decode(bool from_cold_buffer = false) {
    uint64_t now_ns = MonotonicNs();
    while (now_ns < first_ns + kFilledNs) now_ns = MonotonicNs();
    if (now_ns > first_ns + kLatestNs) now_ns = first_ns + kLatestNs;
    return decoder.Decode(from_cold_buffer ? NextCold() : buffer.data(), kRecords * kRecordBytes, now_ns);
  }
};

Agent& TheAgent() {
  static auto* agent = new Agent;
  return *agent;
}

const wire::Record* Ring(const wire::ThreadSlot& slot) {
  const wire::Header* header = TheAgent().memory.header;
  const uint64_t ring_bytes = uint64_t{header->big_ring_records} * sizeof(wire::Record);
  return reinterpret_cast<const wire::Record*>(reinterpret_cast<const uint8_t*>(header) + header->big_rings_offset +
                                               (slot.big_ring_plus_one - 1) * ring_bytes);
}

void PerRecord(benchmark::State& state, uint64_t records) {
  state.SetItemsProcessed(static_cast<int64_t>(records));
  state.counters["ns_a_record"] =
      benchmark::Counter(static_cast<double>(records), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(TheAgent().real ? "NVIDIA's parser" : "a stand-in for NVIDIA's parser");
}

void ParserAlone(benchmark::State& state) {
  Agent& agent = TheAgent();
  const bool cold = state.range(0) != 0;
  uint64_t records = 0;
  for (auto _ : state) {
    uint8_t* buffer = cold ? agent.NextCold() : agent.buffer.data();
    CUpti_Activity* record = nullptr;
    while (agent.parser(buffer, kRecords * kRecordBytes, &record) == CUPTI_SUCCESS) {
      benchmark::DoNotOptimize(record);
      ++records;
    }
  }
  PerRecord(state, records);
}
BENCHMARK(ParserAlone)->ArgName("cold")->Arg(0)->Arg(1);

void ParserAndWorker(benchmark::State& state) {
  Agent& agent = TheAgent();
  uint64_t records = 0;
  for (auto _ : state) records += agent.Decode(state.range(0) != 0);
  if (records == 0) state.SkipWithError("no record was taken");
  PerRecord(state, records);
}
BENCHMARK(ParserAndWorker)->ArgName("cold")->Arg(0)->Arg(1);

// Everything the agent does for a record: worker and streaming thread one after the other.
void WorkerAndStreamingThread(benchmark::State& state) {
  Agent& agent = TheAgent();
  const wire::ThreadSlot* slot = SlotAt(0);
  uint64_t records = 0, lost = 0, bytes = 0;
  uint64_t next = slot->head.load();
  for (auto _ : state) {
    records += agent.Decode(state.range(0) != 0);
    while (next < slot->head.load(std::memory_order_relaxed)) {
      const ReadResult read = ReadRing(*slot, Ring(*slot), agent.memory.header->big_ring_records, next, false,
                                       agent.records.data(), BatchEncoder::kMaxRecords);
      lost += read.lost;
      ProtoWriter out(agent.output.data(), agent.output.size());
      agent.encoder.Encode(agent.memory.header, 1, read.first, agent.records.data(), read.count, &out);
      bytes += out.bytes();
      next = read.first + read.count;
    }
  }
  PerRecord(state, records);
  state.counters["bytes_a_record"] = static_cast<double>(bytes) / static_cast<double>(records);
  state.counters["lost"] = static_cast<double>(lost);
}
BENCHMARK(WorkerAndStreamingThread)->ArgName("cold")->Arg(0)->Arg(1);

}  // namespace
}  // namespace stallscope::agent
