// Threads: create (passes through, and is the moment at which a process deserves a streaming thread), join, barrier.
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/real_calls.h"
#include "agent/os/python_lock.h"
#include "agent/os/shared_objects.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {

STALLSCOPE_EXPORT(int, pthread_create,
                  (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument)) {
  auto* real = STALLSCOPE_REAL(pthread_create);
  const int error = errno;
  EnsureStreaming();
  LookForPython();
  errno = error;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadCreate, 0);
  const int result = real(thread, attributes, start, argument);
  FinishWait(&frame, {.result = -result}, result == 0 ? static_cast<uint64_t>(*thread) : 0);
  return result;
}

namespace {

// Of a thread that recorded something; 0 when it never did, or when its slot went on to another. Handles are used again: the
// latest owner counts.
uint32_t TidOf(pthread_t thread, uint64_t joined_ticks) noexcept {
  const uint32_t used = g_header->slots_used.load(std::memory_order_acquire);
  const wire::ThreadSlot* latest = nullptr;
  for (uint32_t i = 0; i < used && i < g_header->slot_count; ++i) {
    const wire::ThreadSlot* slot = SlotAt(i);
    if (slot->handle != static_cast<uint64_t>(thread) || slot->start_ticks > joined_ticks ||
        slot->state.load(std::memory_order_acquire) == static_cast<uint32_t>(wire::SlotState::kFree)) {
      continue;
    }
    if (latest == nullptr || slot->start_ticks > latest->start_ticks) latest = slot;
  }
  return latest != nullptr ? latest->tid : 0;
}

}  // namespace

STALLSCOPE_EXPORT(int, pthread_join, (pthread_t thread, void** value)) {
  auto* real = STALLSCOPE_REAL(pthread_join);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadJoin, 0);
  const int result = real(thread, value);
  const uint32_t tid = result == 0 && frame.thread != nullptr ? TidOf(thread, FastTicks()) : 0;
  FinishWait(&frame, {.result = -result, .count = tid}, static_cast<uint64_t>(thread));
  return result;
}

STALLSCOPE_EXPORT(int, pthread_timedjoin_np, (pthread_t thread, void** value, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_timedjoin_np);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadTimedjoinNp, 0);
  const int result = real(thread, value, deadline);
  const uint32_t tid = result == 0 && frame.thread != nullptr ? TidOf(thread, FastTicks()) : 0;
  const timespec* read = result == ETIMEDOUT ? deadline : nullptr;  // of a thread that had ended it is not looked at
  FinishWait(&frame, {.result = -result, .timeout_ns = DeadlineNs(frame, CLOCK_REALTIME, read), .count = tid},
             static_cast<uint64_t>(thread));
  return result;
}

STALLSCOPE_EXPORT(int, pthread_clockjoin_np,
                  (pthread_t thread, void** value, clockid_t clock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_clockjoin_np);
  if (real == nullptr) return ENOSYS;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadClockjoinNp, 0);
  const int result = real(thread, value, clock, deadline);
  const uint32_t tid = result == 0 && frame.thread != nullptr ? TidOf(thread, FastTicks()) : 0;
  FinishWait(&frame,
             {.result = -result,
              .timeout_ns = DeadlineNs(frame, clock, result == ETIMEDOUT ? deadline : nullptr),
              .count = tid},
             static_cast<uint64_t>(thread));
  return result;
}

STALLSCOPE_EXPORT(int, pthread_barrier_wait, (pthread_barrier_t * barrier)) {
  auto* real = STALLSCOPE_REAL(pthread_barrier_wait);
  // The last to arrive does not wait: it wakes the others. It is the one that glibc calls the serial thread.
  WakeFrame wake;
  if (__builtin_expect(IsShared(barrier), 0)) {
    StartWakeSlow(&wake, AddressObject(barrier));
  } else {
    StartWake(&wake, AddressObject(barrier));
  }
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadBarrierWait, AddressObject(barrier));
  const int result = real(barrier);
  FinishWait(&frame, {.result = result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : -result});
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) FinishWake(wake, wire::OsCall::kPthreadBarrierWait);
  return result;
}

}  // namespace stallscope::agent
