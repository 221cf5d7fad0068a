// A program for tests: uses CUPTI as another profiler in the process does, in the middle of CUDA work, and says what it
// got. What it says must be the same with and without the agent.
//
// usage: cupti_client MODE SECONDS    SECONDS: how long the work before and after it takes, each
//   torch       as libkineto does: registers buffers and a clock, enables kinds, never subscribes; linked to libcupti
//   hidden      the same through dlsym, where nobody sees it coming, and it keeps what it took
//   subscriber  subscribes, enables a callback, unsubscribes
//   switch_off  through dlsym, switches off kinds that it never switched on
//   finalize    like torch, and ends with cuptiFinalize
//   exclusive   works for SECONDS, then subscribes like "subscriber"; ends without more work
//   in_flight   ends while work is enqueued
//   fork        forks; the child waits, ends by exit, and says nothing
//   nothing     just works
//   late        before anything else, loads the library in STALLSCOPE_TEST_AGENT as an injection, with CUDA at work
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "agent/cupti/fill_work.h"

namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_RUNTIME};

struct Functions {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = cuptiActivityRegisterCallbacks;
  decltype(&cuptiActivityEnable) enable = cuptiActivityEnable;
  decltype(&cuptiActivityDisable) disable = cuptiActivityDisable;
  decltype(&cuptiActivityFlushAll) flush = cuptiActivityFlushAll;
};

uint64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

struct Result {
  std::mutex mutex;
  std::set<uint8_t*> lent;
  int fills = 0, calls = 0, strange_buffers = 0, strange_times = 0;
  uint64_t begin_ns = 0;
} g_result;

void CUPTIAPI Request(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *bytes = kBufferBytes;
  *max_records = 0;
  *buffer = static_cast<uint8_t*>(calloc(1, kBufferBytes));
  std::lock_guard lock(g_result.mutex);
  g_result.lent.insert(*buffer);
}

void CUPTIAPI Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  std::lock_guard lock(g_result.mutex);
  if (g_result.lent.erase(buffer) == 0) {
    ++g_result.strange_buffers;
    return;
  }
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) ++g_result.calls;
    if (record->kind != CUPTI_ACTIVITY_KIND_MEMSET) continue;
    ++g_result.fills;
    const auto* fill = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
    const bool in_time =
        fill->start >= g_result.begin_ns && fill->end >= fill->start && fill->end <= Now(CLOCK_REALTIME) + 1'000'000;
    g_result.strange_times += !in_time;
  }
  free(buffer);
}

Functions Hidden() {
  void* library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  Functions functions;
  functions.register_callbacks =
      reinterpret_cast<decltype(functions.register_callbacks)>(dlsym(library, "cuptiActivityRegisterCallbacks"));
  functions.enable = reinterpret_cast<decltype(functions.enable)>(dlsym(library, "cuptiActivityEnable"));
  functions.disable = reinterpret_cast<decltype(functions.disable)>(dlsym(library, "cuptiActivityDisable"));
  functions.flush = reinterpret_cast<decltype(functions.flush)>(dlsym(library, "cuptiActivityFlushAll"));
  return functions;
}

void Profile(const Functions& functions, int fills) {
  g_result.begin_ns = Now(CLOCK_REALTIME);
  if (functions.register_callbacks(Request, Complete) != CUPTI_SUCCESS) std::printf("register failed\n");
  for (CUpti_ActivityKind kind : kKinds) {
    if (functions.enable(kind) != CUPTI_SUCCESS) std::printf("enable failed\n");
  }
  Fill(fills);
  functions.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  for (CUpti_ActivityKind kind : kKinds) functions.disable(kind);
  functions.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::printf("fills %d calls %d strange buffers %d strange times %d\n", g_result.fills, g_result.calls,
              g_result.strange_buffers, g_result.strange_times);
}

std::atomic<int> g_callbacks{0};
void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { ++g_callbacks; }

void SubscribeForAMoment() {
  CUpti_SubscriberHandle subscriber = nullptr;
  const CUptiResult result = cuptiSubscribe(&subscriber, OnCallback, nullptr);
  std::printf("subscribe %d\n", result);
  if (result != CUPTI_SUCCESS) return;
  cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
  Fill(7);
  std::printf("callbacks %d unsubscribe %d\n", g_callbacks.load(), cuptiUnsubscribe(subscriber));
}

// The child's exit handlers run, the agent's among them. Were CUPTI called in it, the parent's clients would be asked for
// buffers or given some there; the count of completed buffers of this process's own client stays where it was.
int ForkAChild() {
  cuptiActivityRegisterCallbacks(Request, Complete);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const size_t lent = g_result.lent.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    exit(static_cast<int>(g_result.lent.size() - lent) + g_result.strange_buffers);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child ended with %d after %d flushes\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128,
              g_result.strange_buffers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[1];
  const double seconds = std::atof(argv[2]);
  std::thread([] {}).join();  // a program with a second thread is streamed from, not read
  FillFor(0.2);
  if (mode == "late") {
    void* agent = dlopen(std::getenv("STALLSCOPE_TEST_AGENT"), RTLD_NOW);
    if (agent == nullptr) return 3;
    reinterpret_cast<int (*)()>(dlsym(agent, "InitializeInjection"))();
  }
  FillFor(seconds);
  if (mode == "torch" || mode == "finalize") Profile(Functions(), 100);
  if (mode == "hidden") {
    const Functions functions = Hidden();
    functions.register_callbacks(Request, Complete);
    Fill(20'000);
    FillFor(3);
  }
  if (mode == "switch_off") Hidden().disable(CUPTI_ACTIVITY_KIND_MEMSET);
  if (mode == "subscriber" || mode == "exclusive") SubscribeForAMoment();
  if (mode == "in_flight") {
    void* memory = nullptr;
    cudaMalloc(&memory, 64 << 20);
    for (int i = 0; i < 200; ++i) cudaMemsetAsync(memory, 0, 64 << 20, nullptr);
    return 0;
  }
  if (mode == "fork") return ForkAChild();
  if (mode == "finalize") std::printf("finalize %d\n", cuptiFinalize());
  std::fflush(stdout);
  FillFor(seconds);
}
