#include "collector/main/thread_sampler.h"

#include <unistd.h>

#include <algorithm>

#include "stallscope/v1/frame.pb.h"

namespace stallscope {

bool ThreadSampler::Introduce(uint32_t tid, const ProcThreadStatus& status, bool is_another_thread, Known* known,
                              v1::Frame* names) {
  const std::optional<ProcStat> stat = proc_->Thread(pid_, tid);
  if (!stat.has_value() || next_id_ >= ingest::kIdLimit) return false;
  static const int64_t ns_per_tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  if (known->id == 0 || is_another_thread) known->id = next_id_++;
  known->status_name = status.name;
  v1::Intern::Thread* thread = names->mutable_intern()->add_threads();
  thread->set_id(known->id);
  thread->set_tid(status.own_tid != 0 ? status.own_tid : tid);
  thread->set_name(stat->name);
  thread->set_begin_ns(static_cast<uint64_t>(
      std::max<int64_t>(0, static_cast<int64_t>(stat->start_ticks) * ns_per_tick - boot_offset_ns_)));
  return true;
}

void ThreadSampler::Sample(HostNs now, v1::Frame* names, v1::Frame* samples) {
  ++round_;
  for (const uint32_t tid : proc_->Threads(pid_)) {
    const std::optional<ProcThreadTimes> times = proc_->ThreadTimes(pid_, tid);
    if (!times.has_value()) continue;
    Known& known = threads_[tid];
    known.round = round_;
    // Counters that went back belong to another thread under the same number.
    const bool is_new = known.id == 0 || times->on_cpu_ns < known.times.on_cpu_ns || times->runs < known.times.runs;
    if (!is_new && times->on_cpu_ns == known.times.on_cpu_ns && times->run_delay_ns == known.times.run_delay_ns)
      continue;
    const std::optional<ProcThreadStatus> status = proc_->ThreadStatus(pid_, tid);
    if (!status.has_value()) continue;
    // Most threads name themselves some time after they have started.
    const bool renamed = !is_new && !status->name.empty() && status->name != known.status_name;
    if ((is_new || renamed) && !Introduce(tid, *status, is_new, &known, names)) continue;
    known.times = *times;
    v1::Batch* batch = samples->mutable_batch();
    batch->set_base_ns(static_cast<uint64_t>(now));
    v1::ThreadSamples* rows = batch->mutable_thread_samples();
    rows->add_begin_delta_ns(0);
    rows->add_thread(known.id);
    rows->add_on_cpu_ns(times->on_cpu_ns);
    rows->add_run_delay_ns(times->run_delay_ns);
    rows->add_voluntary_switches(status->voluntary_switches);
    rows->add_involuntary_switches(status->involuntary_switches);
  }
  for (auto at = threads_.begin(); at != threads_.end();) {
    if (at->second.round != round_) {
      threads_.erase(at++);
    } else {
      ++at;
    }
  }
}

}  // namespace stallscope
