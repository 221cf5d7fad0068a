#include "collector/main/session_table.h"

#include <algorithm>

#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr uint64_t kMaxLive = 1024;
constexpr uint64_t kMaxFinished = 64;

}  // namespace

ProcessSession* SessionTable::OnHello(const v1::Hello& hello, uint32_t host_pid, HostNs now) {
  const ProcessInfo info = ingest::ToProcessInfo(0, hello);
  for (const auto& session : sessions_) {
    if (session->finished() || !(session->info().identity == info.identity)) continue;
    if (ingest::IsSameProcess(session->info(), info)) return session.get();
    session->Finish(now, /*became_another_program=*/true);
  }
  if (live() >= kMaxLive) return nullptr;
  ++seen_;
  sessions_.push_back(
      std::make_unique<ProcessSession>(static_cast<uint32_t>(seen_), hello, host_pid, host_, factory_, capture_));
  return sessions_.back().get();
}

uint64_t SessionTable::Drain(HostNs now) {
  uint64_t most = 0;
  for (const auto& session : sessions_) most = std::max(most, session->DrainIfNotStreaming(now));
  return most;
}

void SessionTable::Sample(HostNs now) {
  for (const auto& session : sessions_) session->SampleThreads(now);
}

void SessionTable::ReportOwnHealth(HostNs now) {
  for (const auto& session : sessions_) session->ReportOwnHealth(now);
}

void SessionTable::Advance(HostNs now) {
  for (const auto& session : sessions_) {
    if (!session->finished()) session->Advance(now);
  }
}

void SessionTable::Reap(HostNs now) {
  for (const auto& session : sessions_) {
    if (!session->finished() && session->IsOver(now)) session->Finish(now);
  }
  // Those by the way go first.
  for (const bool only_by_the_way : {true, false}) {
    uint64_t finished = sessions_.size() - live();
    for (auto at = sessions_.begin(); at != sessions_.end() && finished > kMaxFinished;) {
      // A connection still points to its session.
      if (!(*at)->finished() || (*at)->connected() || (only_by_the_way && !(*at)->is_by_the_way())) {
        ++at;
        continue;
      }
      forgotten_events_ += (*at)->counts().events;
      if (!(*at)->is_by_the_way()) ++forgotten_;
      at = sessions_.erase(at);
      --finished;
    }
  }
}

void SessionTable::FinishAll(HostNs now) {
  for (const auto& session : sessions_) session->Finish(now);
}

BudgetReport SessionTable::Report(int64_t window_ns, HostNs now) const {
  BudgetReport report;
  report.end = now;
  report.begin = window_ns > 0 ? std::max<HostNs>(0, now - window_ns) : now;
  const bool only_by_the_way =
      std::all_of(sessions_.begin(), sessions_.end(), [](const auto& session) { return session->is_by_the_way(); });
  for (const auto& session : sessions_) {
    if (window_ns > 0 && session->finished() && session->finished_at() < report.begin) continue;
    // When there was nothing else, the last of them was the command itself.
    if (session->is_by_the_way() && !(only_by_the_way && session == sessions_.back())) continue;
    report.processes.push_back(session->Report(window_ns, now));
    if (window_ns <= 0) report.begin = std::min(report.begin, session->info().agent_start);
  }
  return report;
}

uint64_t SessionTable::live() const {
  return static_cast<uint64_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](const auto& session) { return !session->finished(); }));
}

uint64_t SessionTable::events() const {
  uint64_t events = forgotten_events_;
  for (const auto& session : sessions_) events += session->counts().events;
  return events;
}

}  // namespace stallscope
