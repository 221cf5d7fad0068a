// The names of one process: what its small integers stand for. Filled from Intern frames; asked by every stage and
// view.
//
// Written by: ProcessStream. Read by: the batch decoder, and through ProcessNames by analysis, tables and dump.
// Single thread. Memory bounded by kMaxRegistryBytes; what passes it is counted in refused().
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "collector/base/event.h"
#include "collector/ingest/code_map.h"
#include "collector/ingest/id_table.h"

namespace stallscope::v1 {
class Intern;
}

namespace stallscope::ingest {

// A thread of the process.
struct ThreadEntry {
  ThreadInfo info;
  // When it took its slot (agent, memfd), and when the kernel started it (/proc); 0: not known from that side.
  HostNs recorded_begin = 0, sampled_begin = 0;
  bool announced = false;  // the sink knows it
  bool named = false;      // by the program itself (NVTX): what the kernel calls it says less
};

// How far one use of one slot of the shared memory has been received.
struct RingProgress {
  bool seen_batch = false;
  uint64_t next_record = 0;  // first ring record not received yet
  HostNs last_end = 0;       // of the last event received
};

// A source of batches: one use of one slot by one thread. A thread that changes to a bigger ring takes a new slot, so
// it may have two; and one slot may be known under several ids (the collector's while there is no streaming thread,
// another of the agent's each time that streaming begins), which then share their progress.
struct RingEntry {
  uint32_t id = 0;  // Batch.thread
  ThreadEntry* thread = nullptr;
  RingProgress* progress = nullptr;
  HostNs begin = 0;
};

// How far two statements of when a slot was taken may lie apart: 20 ms, and 244 ppm of its age, since each was
// converted with the clock calibration of its time.
constexpr HostNs BeginTolerance(HostNs age_ns) { return 20'000'000 + (age_ns > 0 ? age_ns >> 12 : 0); }

class ProcessRegistry final : public ProcessNames {
 public:
  ProcessRegistry();

  std::string_view String(StringId id) const override { return strings_.Get(id); }
  std::string_view CallName(wire::CudaDomain domain, uint16_t call) const override;
  const ThreadInfo* Thread(ThreadIndex thread) const override;
  const StackInfo* Stack(StackId stack) const override { return code_map_.Stack(stack); }
  const ModuleInfo* Module(uint64_t address, uint32_t generation) const override {
    return code_map_.Module(address, generation);
  }
  std::string_view CodeName(uint64_t address) const override { return code_map_.CodeName(address); }

  // The raw value of an object id; 0 when it was never introduced (and for id 0).
  uint64_t Object(uint32_t id) const { return objects_.Get(id); }
  // Never nullptr: an id that was not introduced gets an entry without a name, so that its events are not lost. Past
  // kMaxThreads all share one entry.
  RingEntry* Ring(uint32_t id);

  // Introduces the thread behind an id. Agent, memfd and /proc may each name the same one under their own ids: it is
  // the same when the tid is, and the slot was taken at the same time (20 ms: two ticks of /proc's clock) or, seen by
  // /proc, after the kernel started it. Where the collector drained the ring before the agent began to stream, the
  // agent goes on after it.
  RingEntry* AddThread(uint32_t id, uint32_t tid, std::string_view name, HostNs begin);

  // The ring of that kernel id whose slot was taken nearest to `begin`, within `tolerance_ns`; nullptr when none was.
  // Ids given to threads found in /proc do not count.
  const RingEntry* FindRing(uint32_t tid, HostNs begin, HostNs tolerance_ns) const;

  // Called at the first batch of an id when that does not start at record 0: when another id of the same slot (same
  // tid, begin within the tolerance) was followed up to about there, this one goes on with its progress.
  void ContinueProgress(RingEntry* ring, uint64_t first_record, HostNs tolerance_ns);

  // Takes in everything of an Intern but the threads, which ProcessStream adds one by one (its sink is told of each).
  void AddNames(const v1::Intern& intern);

  // What the program itself calls a thread. Before the thread is known the name waits for it.
  void NameThread(uint32_t tid, std::string_view name);

  uint64_t refused() const { return refused_ + code_map_.refused(); }

 private:
  bool Afford(size_t bytes);
  // The ring of the id, made for that thread (nullptr: a new one) when it is new.
  RingEntry* RingOf(uint32_t id, ThreadEntry* thread);
  void AddString(uint32_t id, std::string_view text);
  std::string_view Keep(std::string_view text);

  IdTable<std::string_view> strings_;
  IdTable<uint64_t> objects_;
  absl::flat_hash_map<uint32_t, std::string_view> call_names_;  // domain << 16 | call
  mutable absl::node_hash_map<uint32_t, std::string> unknown_call_names_;
  std::deque<std::string> texts_;
  std::deque<ThreadEntry> threads_;
  std::deque<RingEntry> rings_;
  std::deque<RingProgress> progress_;
  IdTable<RingEntry*> rings_by_id_;
  CodeMap code_map_;
  absl::flat_hash_map<uint32_t, std::vector<RingEntry*>> rings_by_tid_;
  absl::flat_hash_map<uint32_t, std::string> waiting_names_;  // by tid
  size_t bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace stallscope::ingest
