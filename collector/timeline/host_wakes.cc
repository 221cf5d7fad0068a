#include "collector/timeline/host_wakes.h"

#include <algorithm>
#include <utility>

#include "proto/wire/unix_name.h"

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
  for (const auto& [object, known] : entry.objects) Forget({member, object}, known);
  entry = {};
}

void HostWakes::Wakes::Add(const Wake& wake, size_t most) {
  if (wakes.size() < most) {
    wakes.push_back(wake);
  } else {
    wakes[next++ % most] = wake;
  }
}

void HostWakes::Remove(const std::string& name, const Place& place, Places* places) {
  const auto found = places->find(name);
  if (found == places->end()) return;
  std::vector<Place>& at = found->second;
  at.erase(std::remove(at.begin(), at.end(), place), at.end());
  if (at.empty()) places->erase(found);
}

void HostWakes::Forget(const Place& place, const Known& known) {
  if (!known.reaches.empty()) Remove(known.reaches, place, &sends_to_);
  for (const std::string& name : known.reached_by) Remove(name, place, &waits_at_);
}

void HostWakes::OnIdentity(Member member, const IdentityEvent& identity) {
  Entry& entry = members_[member];
  const Place place{member, identity.object};
  Known before;
  const auto found = entry.objects.find(identity.object);
  if (found != entry.objects.end()) {
    before = std::move(found->second);
    Forget(place, before);
    entry.names -= before.reached_by.size();
    entry.objects.erase(found);
  }
  if (entry.objects.size() >= kMaxObjects || entry.names + identity.reached_by.size() > kMaxNames ||
      (identity.reaches.empty() && identity.reached_by.empty()))
    return;
  Known& known = entry.objects[identity.object];
  known.reaches = std::string(identity.reaches);
  entry.names += identity.reached_by.size();
  if (!known.reaches.empty()) sends_to_[known.reaches].push_back(place);
  for (const std::string_view name : identity.reached_by) {
    known.reached_by.emplace_back(name);
    waits_at_[known.reached_by.back()].push_back(place);
  }
  for (const std::string_view name : identity.reached_by) {
    if (std::find(before.reached_by.begin(), before.reached_by.end(), name) == before.reached_by.end()) {
      HandOnEarlierWakesTo(place, name);
    }
  }
  if (identity.reaches != before.reaches) HandOnEarlierWakesOf(place, identity.reaches);
}

// Somebody waits at `place`, it turns out, for what is sent to `name`.
void HostWakes::HandOnEarlierWakesTo(const Place& place, std::string_view name) {
  const auto senders = sends_to_.find(std::string(name));
  if (senders == sends_to_.end()) return;
  for (const Place& sender : std::vector<Place>(senders->second)) {
    if (sender == place) continue;
    for (const Wake& wake : members_[sender.member].named.wakes) {
      if (wake.object == sender.object) HandOnLate(sender.member, wake, place);
    }
  }
}

// What was sent through `place` went there, it turns out.
void HostWakes::HandOnEarlierWakesOf(const Place& place, std::string_view reaches) {
  if (reaches.empty() || reaches == kDiskFile) return;
  Entry& entry = members_[place.member];
  const auto reached = waits_at_.find(std::string(reaches));
  for (const Wakes* unnamed : {&entry.unnamed_descriptors, &entry.unnamed_memory}) {
    for (const Wake& wake : unnamed->wakes) {
      if (wake.object != place.object) continue;
      entry.named.Add(wake, kKept);
      if (reached == waits_at_.end()) continue;
      for (const Place& to : std::vector<Place>(reached->second)) {
        if (!(to == place)) HandOnLate(place.member, wake, to);
      }
    }
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
  const Wake wake{object, at, waker};
  const auto known = entry.objects.find(object);
  if (known == entry.objects.end()) {
    (object >= wire::kUnixNames ? entry.unnamed_descriptors : entry.unnamed_memory).Add(wake, kKeptUnnamed);
    return;
  }
  if (known->second.reaches.empty() || known->second.reaches == kDiskFile) return;
  entry.named.Add(wake, kKept);
  const auto reached = waits_at_.find(known->second.reaches);
  if (reached == waits_at_.end()) return;
  reached_ = reached->second;  // a receiver may change the table
  for (const Place& place : reached_) {
    // Through the object itself its process has seen the wake-up already.
    if (!(place == Place{member, object})) HandOn(member, wake, place);
  }
}

void HostWakes::HandOnLate(Member member, const Wake& wake, const Place& place) {
  const Process* process = members_[place.member].process;
  if (process != nullptr && wake.at >= process->TakesLateWakesSince()) HandOn(member, wake, place);
}

void HostWakes::HandOn(Member member, const Wake& wake, const Place& place) {
  Entry& entry = members_[member];
  if (members_[place.member].process == nullptr) return;
  if (place.member != member && entry.woke.size() < kMaxWoken &&
      std::find(entry.woke.begin(), entry.woke.end(), place.member) == entry.woke.end()) {
    entry.woke.push_back(place.member);
  }
  members_[place.member].process->OnWokenBy(place.object, wake.at, member, wake.waker);
}

}  // namespace stallscope
