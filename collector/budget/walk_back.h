// Blames a stretch of GPU idleness: walks back in time from a thread's instant, over wake-ups from thread to thread,
// and charges each instant to what the thread on the critical path did (docs/budget.md section 4, step 2).
//
// Single thread. Reads the timeline; writes the charge sheet. Every instant of the stretch is charged exactly once.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/budget/awaited_work.h"
#include "collector/budget/charge_sheet.h"
#include "collector/timeline/foreign_walk.h"
#include "collector/timeline/timeline.h"

namespace stallscope {

class WalkBack {
 public:
  struct Request {
    ThreadIndex thread = 0;
    HostNs from = 0;           // the walk starts here ...
    HostNs until = 0;          // ... and charges everything back to here
    HostNs visible_until = 0;  // calls that ended later are taken as not there: live and offline see the same
    bool in_flight = true;  // a token is being made; false: a wait for outside input is idle time, if it is long enough
    int64_t shortest_idle_ns = 0;
    int64_t skew_margin_ns = 0;
    // For another process: hops that its walk made before, and where nothing is known the walk ends.
    int hops = 0;
    bool for_another = false;
  };

  // The other processes of the host, as a walk needs them.
  class Others {
   public:
    virtual ~Others() = default;
    // Goes on in process `member`; the charges' causes are in this process's numbers. As HostWakes::Process::WalkBackFrom.
    virtual HostNs WalkOn(uint32_t member, const ForeignWalk& walk, wire::OsCall waited_in,
                          std::vector<ChargeSheet::Charge>* charges) = 0;
  };
  void SetOthers(Others* others) { others_ = others; }

  WalkBack(Timeline* timeline, const AwaitedWorkFinder* awaited) : timeline_(*timeline), awaited_(*awaited) {}

  // Appends the threads that it met to `critical` (repeats possible). Returns how far back it got: request.until, but for a
  // walk for another process.
  HostNs Run(const Request& request, ChargeSheet* sheet, StepBudget* budget, std::vector<ThreadIndex>* critical) const;

 private:
  HostNs WalkOnElsewhere(const Request& request, const WakeIndex::Wake& wake, const Call& call, ThreadIndex thread,
                         HostNs woken_at, HostNs cursor, int hops, ChargeSheet* sheet) const;
  void ChargeOwnCode(const Request& request, ThreadIndex thread, const ThreadTimeline& timeline,
                     const ThreadTimeline::Position& position, HostNs from, HostNs to, CauseKey reason,
                     ChargeSheet* sheet) const;
  // As the line, but for what the driver spent on loading code meanwhile.
  void ChargeUnlessLoading(ThreadIndex thread, Line line, HostNs from, HostNs to, CauseKey cause,
                           ChargeSheet* sheet) const;
  void ChargeBlockingCuda(const Request& request, ThreadIndex thread, const Call& call, HostNs from, HostNs to,
                          ChargeSheet* sheet) const;

  Timeline& timeline_;
  const AwaitedWorkFinder& awaited_;
  Others* others_ = nullptr;
};

// The line of a call by its class alone: for waits, the line of a wait whose waker is not known. Outside input counts
// as host.ipc.
Line LineOfCall(const Call& call);
CauseKey CauseOfCall(const Call& call, ThreadIndex thread);
// A wait for something from outside the process: a socket, a pipe, a connection.
bool IsOutsideInput(const Call& call);

}  // namespace stallscope
