// The way in through `stallscope attach`, and out through `stallscope detach`: called by the injector (tools/attach) in
// a process that runs already, on a thread that it made for this or on a borrowed one that was parked in a system call.
//
// The injector has made sure that the thread is inside neither the allocator nor the loader, so that both can be used
// here as anywhere else in the program.
#include <string.h>

#include <atomic>

#include "agent/attach/call_slots.h"
#include "agent/cuda/call_record.h"
#include "agent/cuda/first_call.h"
#include "agent/cupti/session.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/proc_files.h"
#include "agent/entry/process_memory.h"
#include "agent/hot/recorder.h"
#include "agent/stream/streaming.h"
#include "proto/wire/attach.h"

namespace stallscope::agent {
namespace {

using wire::AttachOutcome;
using wire::AttachRequest;

constexpr uint64_t kDetachNs = 3'000'000'000;
constinit std::atomic<bool> g_busy{false};
constinit int32_t g_given_back = 0;  // slots, by the last detach

void Answer(AttachRequest* request, AttachOutcome outcome, const char* why = nullptr) noexcept {
  if (why != nullptr) strncpy(request->why, why, sizeof(request->why) - 1);
  // The injector reads the rest once it sees this.
  reinterpret_cast<std::atomic<uint32_t>*>(&request->outcome)
      ->store(static_cast<uint32_t>(outcome), std::memory_order_release);
}

// cuInit has been called: the driver answers questions. Asking changes nothing.
bool CudaIsInitialised() noexcept {
  using GetCount = int (*)(int*);
  const auto get = reinterpret_cast<GetCount>(ResolveNext("cuDeviceGetCount", nullptr, "libcuda.so"));
  int count = 0;
  return get != nullptr && get(&count) == 0;
}

void GiveBackAtDetach() noexcept { g_given_back = GiveCallSlotsBack(); }

// CUPTI now, not at the next CUDA call: a program with a runtime of its own inside makes none that could be seen.
void TakeUpCuda(AttachRequest* request) noexcept {
  if (!FirstCallDone() && !CudaIsInitialised()) return;
  request->cuda = 1;
  if (FirstCallDone()) {
    const OwnCudaCalls own;
    ReopenCupti();
  } else {
    FirstCudaCall(/*may_ask_runtime=*/true);
  }
}

bool SetUpOrResume(AttachRequest* request) noexcept {
  const bool resumes = HasDetached();
  if (!resumes && IsThisProcess()) {
    Answer(request, AttachOutcome::kAlready);
    return false;
  }
  SetAttachOrders(request->socket_path, request->level_plus_one, request->stacks != 0);
  if (resumes) {
    const uint32_t level =
        request->level_plus_one != 0 ? request->level_plus_one - 1 : static_cast<uint32_t>(wire::Level::kBudget);
    if (ResumeAfterDetach(static_cast<uint8_t>(level), request->stacks != 0)) return true;
    Answer(request, AttachOutcome::kRefused, "the last detach is still under way");
    return false;
  }
  EnsureSetUp();
  if (IsThisProcess()) return true;
  const char* why = WhyOff();
  Answer(request, AttachOutcome::kRefused, why != nullptr ? why : "the agent could not be set up");
  return false;
}

void Attach(AttachRequest* request) noexcept {
  const InsideAgent inside;
  if (!SetUpOrResume(request)) return;
  AddDetach(GiveBackAtDetach);
  AddStreamingRound(WatchModules);
  const SlotTotals totals = TakeCallSlots();
  request->modules = totals.modules;
  request->slots = totals.slots;
  request->modules_not_ready = totals.modules_not_ready;
  TakeUpCuda(request);
  // A process that has one thread keeps one (see agent/stream/streaming.h).
  if (ThreadCount() > 1 + request->own_thread) EnsureStreaming();
  request->streaming = StreamingStarted() ? 1 : 0;
  request->connected = ConnectedToCollector() ? 1 : 0;
  Answer(request, AttachOutcome::kDone);
}

void Detach(AttachRequest* request) noexcept {
  const InsideAgent inside;
  if (HasDetached()) return Answer(request, AttachOutcome::kAlready);
  if (!IsThisProcess()) return Answer(request, AttachOutcome::kRefused, "the agent does not record in this process");
  g_given_back = 0;
  if (!DetachFromHere(kDetachNs))
    return Answer(request, AttachOutcome::kRefused, "the agent's own threads do not answer");
  request->slots = g_given_back > 0 ? static_cast<uint32_t>(g_given_back) : 0;
  if (g_given_back < 0) return Answer(request, AttachOutcome::kRefused, "the call slots could not be given back");
  Answer(request, AttachOutcome::kDone);
}

void Serve(AttachRequest* request, void (*work)(AttachRequest*) noexcept) noexcept {
  if (request->bytes != sizeof(AttachRequest)) return Answer(request, AttachOutcome::kOtherVersion);
  request->socket_path[sizeof(request->socket_path) - 1] = '\0';
  if (g_busy.exchange(true, std::memory_order_acquire)) {
    return Answer(request, AttachOutcome::kRefused, "another attach or detach is under way");
  }
  work(request);
  g_busy.store(false, std::memory_order_release);
}

}  // namespace
}  // namespace stallscope::agent

extern "C" __attribute__((visibility("default"))) void stallscope_attach(stallscope::wire::AttachRequest* request) {
  stallscope::agent::Serve(request, stallscope::agent::Attach);
}

extern "C" __attribute__((visibility("default"))) void stallscope_detach(stallscope::wire::AttachRequest* request) {
  stallscope::agent::Serve(request, stallscope::agent::Detach);
}
