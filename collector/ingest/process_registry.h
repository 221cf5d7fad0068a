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

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "collector/base/event.h"
#include "collector/ingest/id_table.h"

namespace stallscope::v1 {
class Intern;
}

namespace stallscope::ingest {

// A thread as the stream knows it, with what has been received of it.
struct ThreadEntry {
  ThreadInfo info;
  // When it took its slot (agent, memfd), and when the kernel started it (/proc); 0: not known from that side.
  HostNs recorded_begin = 0, sampled_begin = 0;
  bool announced = false;  // the sink knows it
  bool seen_batch = false;
  uint64_t next_record = 0;  // first ring record not received yet
  HostNs last_end = 0;       // of the last event received
};

class ProcessRegistry final : public ProcessNames {
 public:
  ProcessRegistry();

  std::string_view String(StringId id) const override { return strings_.Get(id); }
  std::string_view CallName(wire::CudaDomain domain, uint16_t call) const override;
  const ThreadInfo* Thread(ThreadIndex thread) const override;

  // The raw value of an object id; 0 when it was never introduced (and for id 0).
  uint64_t Object(uint32_t id) const { return objects_.Get(id); }
  // Never nullptr: an id that was not introduced gets an entry without a name, so that its events are not lost. Past
  // kMaxThreads all share one entry. Ids that stand for one thread (see AddThread) yield the same entry.
  ThreadEntry* ThreadById(uint32_t id);
  // The newest thread with that kernel id; nullptr when none.
  const ThreadEntry* ThreadByTid(uint32_t tid) const;

  // Takes in everything but the threads, which ProcessStream adds one by one (its sink is told of each).
  void AddNames(const v1::Intern& intern);

  // Introduces a thread. Agent, memfd and /proc may each name the same one under their own id: it is the same when the
  // tid is, and the begin of one side lies within 20 ms (two ticks of /proc's clock), or the kernel's start before the
  // slot was taken. All its ids then yield one entry. Returns that entry.
  ThreadEntry* AddThread(uint32_t id, uint32_t tid, std::string_view name, HostNs begin);

  uint64_t refused() const { return refused_; }

 private:
  bool Afford(size_t bytes);
  void AddString(uint32_t id, std::string_view text);
  std::string_view Keep(std::string_view text);

  IdTable<std::string_view> strings_;
  IdTable<uint64_t> objects_;
  absl::flat_hash_map<uint32_t, std::string_view> call_names_;  // domain << 16 | call
  mutable absl::node_hash_map<uint32_t, std::string> unknown_call_names_;
  std::deque<std::string> texts_;
  std::deque<ThreadEntry> threads_;
  IdTable<ThreadEntry*> threads_by_id_;
  absl::flat_hash_map<uint32_t, ThreadEntry*> threads_by_tid_;
  size_t bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace stallscope::ingest
