// decode_workload: an inference engine's decode loop without the mathematics. A scheduler thread prepares each step and
// hands it to an executor thread, which runs it on the GPU and hands the tokens back. Runs on the simulated GPU, and on
// a real one where nvcc compiled its kernels.
//
// Output: one JSON line on stdout with the steps and tokens that were really done; a line for people on stderr.
#include <cuda_runtime_api.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <thread>

#if __has_include("agent/marker/stallscope_marker.h")
#include "agent/marker/stallscope_marker.h"
#define HAVE_MARKER 1
#endif

#include "tests/workloads/decode_engine.h"
#include "tests/workloads/handoff.h"
#include "tests/workloads/truth_note.h"

namespace workloads {
namespace {

struct RunOptions {
  DecodeOptions decode;
  uint64_t steps = 0;    // 0: as long as `seconds`
  double seconds = 0;    // 0: no limit
  int schedule_us = 20;  // host time to prepare a step
  int deliver_us = 20;   // host time to work through its tokens
  bool marker = false;
  bool json = false;
};

struct Counts {
  uint64_t steps = 0, tokens = 0;
  double seconds = 0;
};

// Host work: the core is busy, as with tokenising or block tables.
void Work(int us) {
  for (const uint64_t end_ns = NowNs() + static_cast<uint64_t>(us) * 1000; NowNs() < end_ns;) {
  }
}

void MarkStep([[maybe_unused]] size_t tokens) {
#ifdef HAVE_MARKER
  stallscope_step(static_cast<unsigned>(tokens));
#endif
}

using Batch = std::vector<int>;

void Execute(const RunOptions& options, DecodeEngine* engine, Handoff<Batch>* work, Handoff<Batch>* results) {
  Batch tokens;
  while (const std::optional<Batch> batch = work->Take()) {
    engine->Step(*batch, &tokens);
    if (options.marker) MarkStep(tokens.size());
    results->Put(tokens);
  }
  results->Close();
}

Counts Run(const RunOptions& options) {
  DecodeEngine engine(options.decode);
  Handoff<Batch> work, results;
  std::thread executor(Execute, options, &engine, &work, &results);
  pthread_setname_np(executor.native_handle(), "executor");

  Counts counts;
  Batch next(static_cast<size_t>(options.decode.sequences), 1);
  const uint64_t begin_ns = NowNs();
  const auto elapsed_s = [&] { return static_cast<double>(NowNs() - begin_ns) / 1e9; };
  while ((options.steps == 0 || counts.steps < options.steps) &&
         (options.seconds == 0 || elapsed_s() < options.seconds)) {
    Work(options.schedule_us);
    work.Put(next);
    const std::optional<Batch> tokens = results.Take();
    Work(options.deliver_us);
    next = *tokens;
    ++counts.steps;
    counts.tokens += tokens->size();
  }
  counts.seconds = elapsed_s();
  work.Close();
  executor.join();
  return counts;
}

void Print(const RunOptions& options, const Counts& counts) {
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  const double tokens_per_s = counts.seconds > 0 ? static_cast<double>(counts.tokens) / counts.seconds : 0;
  if (!options.json) {
    std::fprintf(stderr, "%s: %" PRIu64 " steps, %" PRIu64 " tokens in %.3f s, %.1f tokens/s\n", properties.name,
                 counts.steps, counts.tokens, counts.seconds, tokens_per_s);
  }
  std::printf("{\"backend\":\"cuda\",\"device\":\"%s\",\"mode\":\"%s\",\"sequences\":%d,\"steps\":%" PRIu64
              ",\"batches\":%" PRIu64 ",\"tokens\":%" PRIu64 ",\"seconds\":%.6f,\"tokens_per_s\":%.1f}\n",
              properties.name, options.decode.graph ? "graph" : "eager", options.decode.sequences, counts.steps,
              counts.steps, counts.tokens, counts.seconds, tokens_per_s);
}

int Main(int argc, char** argv) {
  RunOptions options;
  CLI::App app("A decode loop on the GPU: steps and tokens, without the mathematics.");
  bool eager = false;
  app.add_option("--sequences", options.decode.sequences, "Sequences in the batch")->check(CLI::PositiveNumber);
  app.add_option("--layers", options.decode.layers, "Layers of the model")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "Steps to do (default 2000, or as many as fit into --seconds)");
  app.add_option("--seconds", options.seconds, "Stop after this long");
  app.add_flag("--eager", eager, "Launch each kernel instead of a CUDA graph");
  app.add_flag("--device-sync", options.decode.device_sync, "Synchronize the whole device after each step");
  app.add_flag("--blocking-event", options.decode.blocking_event, "Sleep in the event wait instead of spinning");
  app.add_option("--schedule-us", options.schedule_us, "Host time to prepare a step")->check(CLI::NonNegativeNumber);
  app.add_option("--deliver-us", options.deliver_us, "Host time for a step's tokens")->check(CLI::NonNegativeNumber);
  app.add_flag("--pageable", options.decode.pageable, "Fault: read tokens back into pageable memory");
  app.add_flag("--churn", options.decode.churn, "Fault: allocate and free device memory in each step");
  app.add_flag("--marker", options.marker, "Tell Stallscope each step through the marker header");
  app.add_flag("--json", options.json, "Print the JSON line alone");
  CLI11_PARSE(app, argc, argv);
  options.decode.graph = !eager;
  if (options.steps == 0 && options.seconds == 0) options.steps = 2000;
  Print(options, Run(options));
  return 0;
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) { return workloads::Main(argc, argv); }
