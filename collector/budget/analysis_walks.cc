// Walks back that come from other processes, and go on in them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/budget/analysis.h"
#include "collector/budget/report_text.h"

namespace stallscope {

HostNs Analysis::WalkBackFrom(const ForeignWalk& walk, std::vector<ForeignCharge>* charges) {
  StepBudget unused;
  std::vector<ChargeSheet::Charge> own;
  ChargeSheet sheet(&unused, &own);
  WalkBack::Request request;
  request.thread = walk.thread;
  request.from = walk.from;
  request.until = walk.until;
  request.visible_until = walk.visible_until;
  request.in_flight = walk.in_flight;
  request.shortest_idle_ns = walk.shortest_idle_ns;
  request.skew_margin_ns = walk.skew_margin_ns;
  request.hops = walk.hops;
  request.for_another = true;
  // What was dropped, or was before there was an agent, is not known, however it looks.
  request.until = std::max({request.until, dropped_until_, process_.agent_start});
  if (request.from <= request.until) return walk.from;
  const HostNs known_since = attribution_.walk().Run(request, &sheet, &unused, nullptr);
  for (const ChargeSheet::Charge& charge : own) {
    std::string who;
    switch (KindOf(charge.cause)) {
      case CauseKind::kOsCall:
      case CauseKind::kCudaCall:
      case CauseKind::kThread:
      case CauseKind::kWaker:
      case CauseKind::kWithinClockError:
      case CauseKind::kCodeLoad: {
        const auto thread = static_cast<ThreadIndex>(LowOf(charge.cause));
        // A thread of a third process says where it belongs itself.
        who = names_.IsForeign(thread) ? TextOfThread(thread, &names_)
                                       : absl::StrCat(process_.process_name, "[", Pid(), "] ", ThreadName(thread));
        break;
      }
      default:
        who = absl::StrCat(process_.process_name, "[", Pid(), "]");
        break;
    }
    charges->push_back({charge.line, charge.from, charge.to, std::move(who)});
  }
  return known_since;
}

HostNs Analysis::WalkOn(uint32_t member, const ForeignWalk& walk, wire::OsCall waited_in,
                        std::vector<ChargeSheet::Charge>* charges) {
  HostWakes::Process* other = options_.host_wakes->Get(member);
  if (other == nullptr) return walk.from;
  std::vector<ForeignCharge> theirs;
  const HostNs known_since = other->WalkBackFrom(walk, &theirs);
  for (const ForeignCharge& charge : theirs) {
    charges->push_back({charge.line, charge.from, charge.to,
                        MakeCause(CauseKind::kWaker, static_cast<uint64_t>(waited_in), names_.OfForeign(charge.who))});
  }
  return known_since;
}

}  // namespace stallscope
