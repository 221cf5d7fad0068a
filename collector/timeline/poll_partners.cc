#include "collector/timeline/poll_partners.h"

namespace stallscope {
namespace {

constexpr size_t kMaxDescriptors = 4096;
constexpr int32_t kEventFdBytes = 8;

}  // namespace

bool PollPartners::IsWakeUpWrite(const Call& call) {
  if (call.source != CallSource::kOs || call.object == 0) return false;
  if (call.call == static_cast<uint16_t>(wire::OsCall::kEventfdWrite)) return call.result == 0;
  return call.call == static_cast<uint16_t>(wire::OsCall::kWrite) && call.result == kEventFdBytes;
}

bool PollPartners::IsPoll(const Call& call) {
  return WaitKindOf(call) == wire::WaitKind::kPoll && call.object != 0 && call.result > 0;
}

uint64_t PollPartners::OnWrite(ThreadIndex thread, const Call& call) {
  recent_[next_++ % recent_.size()] = {call.begin, thread, call.object};
  const auto found = partner_of_.find(call.object);
  return found == partner_of_.end() || found->second.hits < kBelieve ? 0 : found->second.set;
}

void PollPartners::OnUnexplainedPoll(ThreadIndex thread, const Call& call) {
  const Write* last = nullptr;
  for (const Write& write : recent_) {
    if (write.thread == thread || write.begin < call.begin || write.begin > call.end) continue;
    if (last == nullptr || write.begin > last->begin) last = &write;
  }
  if (last == nullptr) return;
  if (partner_of_.size() >= kMaxDescriptors) partner_of_.clear();
  Partner& partner = partner_of_[last->descriptor];
  if (partner.set == call.object) {
    ++partner.hits;
  } else if (partner.hits <= 1) {
    partner = {call.object, 1};  // another set: descriptors are used again
  } else {
    --partner.hits;
  }
}

}  // namespace stallscope
