#include "collector/timeline/host_wakes.h"

#include <algorithm>

namespace stallscope {
namespace {

constexpr size_t kMaxWoken = 64;

}  // namespace

HostWakes::Member HostWakes::Join(Process* process) {
  members_.push_back({process, {}});
  return static_cast<Member>(members_.size() - 1);
}

void HostWakes::Leave(Member member) {
  Entry& entry = members_[member];
  for (const auto& [object, known] : entry.objects) Forget(member, object, known);
  entry = {};
}

void HostWakes::Forget(Member member, uint64_t object, const Known& known) {
  for (const std::string& name : known.reached_by) {
    const auto found = waits_at_.find(name);
    if (found == waits_at_.end()) continue;
    std::vector<Place>& places = found->second;
    places.erase(std::remove(places.begin(), places.end(), Place{member, object}), places.end());
    if (places.empty()) waits_at_.erase(found);
  }
}

void HostWakes::OnIdentity(Member member, const IdentityEvent& identity) {
  Entry& entry = members_[member];
  const auto found = entry.objects.find(identity.object);
  if (found != entry.objects.end()) {
    Forget(member, identity.object, found->second);
    entry.names -= found->second.reached_by.size();
    entry.objects.erase(found);
  }
  if (entry.objects.size() >= kMaxObjects || entry.names + identity.reached_by.size() > kMaxNames ||
      (identity.reaches.empty() && identity.reached_by.empty()))
    return;
  Known& known = entry.objects[identity.object];
  known.reaches = std::string(identity.reaches);
  entry.names += identity.reached_by.size();
  for (const std::string_view name : identity.reached_by) {
    known.reached_by.emplace_back(name);
    waits_at_[known.reached_by.back()].push_back({member, identity.object});
  }
}

HostNs HostWakes::NeededSince(Member member) const {
  HostNs since = INT64_MAX;
  for (const Member woken : members_[member].woke) {
    if (const Process* process = Get(woken)) since = std::min(since, process->NeedsSince());
  }
  return since;
}

void HostWakes::OnWake(Member member, ThreadIndex waker, uint64_t object, HostNs at) {
  Entry& entry = members_[member];
  if (entry.objects.empty()) return;
  const auto known = entry.objects.find(object);
  if (known == entry.objects.end() || known->second.reaches.empty()) return;
  const auto reached = waits_at_.find(known->second.reaches);
  if (reached == waits_at_.end()) return;
  reached_ = reached->second;  // a receiver may change the table
  for (const Place& place : reached_) {
    // Through the object itself its process has seen the wake-up already.
    if (place == Place{member, object} || members_[place.member].process == nullptr) continue;
    if (place.member != member && entry.woke.size() < kMaxWoken &&
        std::find(entry.woke.begin(), entry.woke.end(), place.member) == entry.woke.end()) {
      entry.woke.push_back(place.member);
    }
    members_[place.member].process->OnWokenBy(place.object, at, member, waker);
  }
}

}  // namespace stallscope
