// What a workload itself knows of the truth of its run, added to the simulator's file (docs/truth.md): steps, tokens,
// who waited for whom, and when nothing was asked for. Costs a load where no truth is written. Any thread.
#ifndef STALLSCOPE_TESTS_WORKLOADS_TRUTH_NOTE_H_
#define STALLSCOPE_TESTS_WORKLOADS_TRUTH_NOTE_H_

#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace workloads {

inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline int ThreadId() {
  thread_local const int thread_id = static_cast<int>(syscall(SYS_gettid));
  return thread_id;
}

using TruthNote = void (*)(const char* json_object);
inline TruthNote FindTruthNote() {
  static const TruthNote note = std::getenv("SIMGPU_TRUTH") == nullptr
                                    ? nullptr
                                    : reinterpret_cast<TruthNote>(dlsym(RTLD_DEFAULT, "simgpu_truth_note"));
  return note;
}
inline bool TruthIsWritten() { return FindTruthNote() != nullptr; }

// A step ends: its tokens became visible to this thread at `at_ns`.
inline void NoteStep(uint64_t at_ns, uint64_t tokens) {
  if (!TruthIsWritten()) return;
  char line[160];
  std::snprintf(line, sizeof line, "{\"step\":\"delivered\",\"tid\":%d,\"at_ns\":%" PRIu64 ",\"tokens\":%" PRIu64 "}",
                ThreadId(), at_ns, tokens);
  FindTruthNote()(line);
}

// This thread slept in [begin, end) for `what` until thread `by` let it go on at `woken_ns`.
inline void NoteBlocked(const char* what, uint64_t begin_ns, uint64_t woken_ns, uint64_t end_ns, int by) {
  if (!TruthIsWritten()) return;
  char line[240];
  std::snprintf(line, sizeof line,
                "{\"blocked\":\"%s\",\"tid\":%d,\"begin_ns\":%" PRIu64 ",\"woken_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
                ",\"by\":%d}",
                what, ThreadId(), begin_ns, woken_ns, end_ns, by);
  FindTruthNote()(line);
}

// Nothing was asked for in [begin, end); this thread was the last to work before.
inline void NoteIdle(uint64_t begin_ns, uint64_t end_ns) {
  if (!TruthIsWritten()) return;
  char line[160];
  std::snprintf(line, sizeof line,
                "{\"idle\":\"no request\",\"tid\":%d,\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 "}", ThreadId(),
                begin_ns, end_ns);
  FindTruthNote()(line);
}

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_TRUTH_NOTE_H_
