// All processes of the collector: the live ones, and the last few that have ended. Lives on the collector's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/budget/report.h"
#include "collector/main/process_session.h"

namespace stallscope {

class SessionTable {
 public:
  SessionTable(const ProcessSession::Host& host, AnalysisFactory factory, CaptureWriter* capture)
      : host_(host), factory_(std::move(factory)), capture_(capture) {}

  // The session of that hello: the one it belonged to before a reconnect, else a new one. nullptr when there are too
  // many. A process that became another program by exec gets a new session, and its old one ends.
  ProcessSession* OnHello(const v1::Hello& hello, uint32_t host_pid, HostNs now);

  uint64_t Drain(HostNs now);  // how many records the fullest process had
  void Sample(HostNs now);
  void ReportOwnHealth(HostNs now);
  void Advance(HostNs now);
  // Finishes those whose process is gone, and forgets the oldest finished ones.
  void Reap(HostNs now);
  void FinishAll(HostNs now);

  // window_ns <= 0: everything, also of processes that have ended.
  BudgetReport Report(int64_t window_ns, HostNs now) const;
  const std::vector<std::unique_ptr<ProcessSession>>& sessions() const { return sessions_; }
  uint64_t seen() const { return seen_; }
  uint64_t live() const;
  uint64_t events() const;
  // Ended processes worth a report that are kept no longer.
  uint64_t forgotten() const { return forgotten_; }

 private:
  const ProcessSession::Host host_;
  const AnalysisFactory factory_;
  CaptureWriter* const capture_;
  std::vector<std::unique_ptr<ProcessSession>> sessions_;  // by number
  uint64_t seen_ = 0, forgotten_events_ = 0, forgotten_ = 0;
};

}  // namespace stallscope
