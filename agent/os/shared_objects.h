// Does somebody of another process wait on this object? Answered by the object's own words, since the table of waiters
// is private to a process.
//
// Layouts of glibc 2.25 and later on 64-bit (bits/struct_mutex.h, bits/struct_rwlock.h, bits/thread-shared-types.h, and
// nptl/internaltypes.h for semaphore and barrier); they are part of its ABI, since programs initialise the objects with
// constants. Program threads, before the real call, which reads the same words itself. A wrong answer costs a needless
// wake record, or a missing one.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>

namespace stallscope::agent {

// A load that the compiler must make once and the sanitizers must not take for a race.
template <typename Word>
__attribute__((always_inline)) inline Word WordAt(const void* object, size_t offset) noexcept {
  return __atomic_load_n(reinterpret_cast<const Word*>(static_cast<const char*>(object) + offset), __ATOMIC_RELAXED);
}

inline constexpr int kMutexShared = 128, kMutexRobust = 16, kMutexInherits = 32;

// One load when the mutex is private, of the line that the unlock is about to write.
__attribute__((always_inline)) inline bool MutexIsShared(const pthread_mutex_t* mutex) noexcept {
  return (WordAt<int>(mutex, offsetof(pthread_mutex_t, __data.__kind)) & kMutexShared) != 0;
}
inline bool WaitedForElsewhere(const pthread_mutex_t* mutex) noexcept {
  if (!MutexIsShared(mutex)) return false;
  const int kind = WordAt<int>(mutex, offsetof(pthread_mutex_t, __data.__kind));
  const int lock = WordAt<int>(mutex, offsetof(pthread_mutex_t, __data.__lock));
  // Robust and priority-inheriting mutexes hold the owner's tid and a bit for "somebody waits".
  if ((kind & (kMutexRobust | kMutexInherits)) != 0) return (static_cast<unsigned>(lock) & 0x80000000u) != 0;
  return lock == 2;
}

inline bool WaitedForElsewhere(const pthread_rwlock_t* lock) noexcept {
  if (WordAt<int>(lock, offsetof(pthread_rwlock_t, __data.__shared)) == 0) return false;
  constexpr unsigned kFutexUsed = 2;  // in either futex word: somebody sleeps on it
  return ((WordAt<unsigned>(lock, offsetof(pthread_rwlock_t, __data.__wrphase_futex)) |
           WordAt<unsigned>(lock, offsetof(pthread_rwlock_t, __data.__writers_futex))) &
          kFutexUsed) != 0;
}

// Bit 0 of __wrefs: shared; from bit 3 on: how many wait. Of condition variables of version 2.3.2 only.
inline bool WaitedForElsewhere(const pthread_cond_t* condition) noexcept {
  const unsigned references = WordAt<unsigned>(condition, offsetof(pthread_cond_t, __data.__wrefs));
  return (references & 1) != 0 && (references >> 3) != 0;
}

// Value in the low half, waiters in the high half, then whether it is shared.
inline bool WaitedForElsewhere(const sem_t* semaphore) noexcept {
  return WordAt<uint32_t>(semaphore, 4) != 0 && WordAt<int>(semaphore, 8) != 0;
}

// in, current_round, count, shared, out
inline bool IsShared(const pthread_barrier_t* barrier) noexcept { return WordAt<int>(barrier, 12) != 0; }

}  // namespace stallscope::agent
