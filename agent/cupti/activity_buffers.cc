// The two functions through which CUPTI gets memory for activity records and gives it back filled.
#include <errno.h>

#include "agent/cuda/call_record.h"
#include "agent/cupti/keeper_thread.h"
#include "agent/cupti/own_cost.h"
#include "agent/cupti/ring_room.h"
#include "agent/cupti/session_state.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::Counter;

// A buffer holds at most so many: of the records that become one in the ring a kernel's is the longest, and by far the most
// frequent in a full buffer.
constexpr size_t kShortestRecordBytes = sizeof(CUpti_ActivityMemset4);

// The calling thread may be one whose hooks pass straight through (the keeper): its GPU records are wanted all the
// same.
class MayRecord {
 public:
  MayRecord() noexcept : inside_(t_local.inside) { t_local.inside = 0; }
  ~MayRecord() noexcept { t_local.inside = inside_; }
  MayRecord(const MayRecord&) = delete;
  MayRecord& operator=(const MayRecord&) = delete;

 private:
  uint16_t inside_;
};

// On a thread of the program, inside a CUDA call.
void CUPTIAPI Request(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = g_cupti_session.pool.Take();
  if (IsKeeper()) g_cupti_session.requests_of_keeper.fetch_add(1, std::memory_order_relaxed);
  *bytes = BufferPool::kBufferBytes;
  *max_records = 0;  // as many as fit
}

// On CUPTI's worker, or on the thread that flushes. CUPTI is not called back but for its parser and its drop count, and
// no lock is held that a thread of the program could want.
void CUPTIAPI Complete(CUcontext context, uint32_t stream_id, uint8_t* buffer, size_t, size_t valid_bytes) {
  CuptiSession& session = g_cupti_session;
  const int saved_errno = errno;
  session.pulses.fetch_add(1, std::memory_order_relaxed);
  if (session.pid.load(std::memory_order_relaxed) != static_cast<int32_t>(RawSyscall(SYS_getpid))) return;
  if (!session.pool.Owns(buffer)) {
    // The discard buffer: several threads may have written it at once, so it is not read. How much was lost is told by
    // its length in records of a kernel, the longest kind. Any other buffer belongs to a client that was here before.
    const uint32_t record_bytes = sizeof(CUpti_ActivityKernel10);
    if (session.pool.IsDiscard(buffer)) Count(Counter::kCuptiDropped, (valid_bytes + record_bytes - 1) / record_bytes);
    errno = saved_errno;
    return;
  }
  // The keeper counts all of its time itself.
  const bool count_cost = !IsKeeper();
  const uint64_t cpu_before_ns = count_cost ? ThreadCpuNs() : 0;
  {
    const MayRecord may_record;
    UseBigRing();
    LibraryClock& clock = session.decoder.clock();
    if (session.own_clock) {
      clock.UseOwn();
    } else if (session.phase.load(std::memory_order_acquire) == CuptiPhase::kActive) {
      clock.Measure(&session.cupti);
    }
    SetGpuClockUncertainty(clock.uncertainty_ns());
    if (IsKeeper() || !ThreadMadeCudaCalls()) WaitForRingRoom(valid_bytes / kShortestRecordBytes);
    const uint64_t told_before = session.decoder.told();
    session.operations.fetch_add(session.decoder.Decode(buffer, valid_bytes, MonotonicNs()), std::memory_order_relaxed);
    if (session.decoder.told() != told_before) session.completions.fetch_add(1, std::memory_order_relaxed);
  }
  {
    const InsideAgent inside;
    size_t dropped = 0;
    if (session.phase.load(std::memory_order_acquire) == CuptiPhase::kActive &&
        session.cupti.TakeDropped(context, stream_id, &dropped) == CUPTI_SUCCESS && dropped != 0) {
      Count(Counter::kCuptiDropped, dropped);
    }
    session.pool.Return(buffer);
  }
  // A thread that never makes CUDA calls but hands over buffers is CUPTI's worker: what it waits for is none of the
  // program's business, so its hooks pass through from here on.
  if (t_local.inside == 0 && !ThreadMadeCudaCalls()) ++t_local.inside;
  if (count_cost) AddOwnCost(ThreadCpuNs() - cpu_before_ns);
  errno = saved_errno;
}

void CUPTIAPI RequestForSubscriber(uint8_t** buffer, size_t* bytes, size_t* max_records, void*) {
  Request(buffer, bytes, max_records);
}
void CUPTIAPI CompleteOfSubscriber(uint8_t* buffer, size_t bytes, size_t valid_bytes, void*) {
  Complete(nullptr, 0, buffer, bytes, valid_bytes);
}

}  // namespace

const BufferFunctions kBufferFunctions = {Request, Complete, RequestForSubscriber, CompleteOfSubscriber};

}  // namespace stallscope::agent
