// Who woke whom between processes: takes the wake-ups and writes of every process of the host, and hands each to those that
// wait on the same thing under another number.
//
// Two processes share memory, a pipe, a socket pair or an eventfd; each knows it by an address or descriptor of its own. The
// names by which the thing can be told (IdentityEvent) come from the collector, which sees both. A process also hands its
// own to itself where its agent could not know that both ends are here: loopback TCP.
//
// The waker's records may come before the names of its own object are known, and most often come before the woken one's are:
// that one is introduced with its first finished wait. So the latest wake-ups of each process are kept and handed on late.
//
// Written by: the analyses of the processes, on one thread. The object outlives all of them. Memory is bounded by kMaxObjects,
// kMaxNames and kKept a process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/timeline/foreign_walk.h"

namespace stallscope {

class HostWakes {
 public:
  using Member = uint32_t;
  static constexpr size_t kMaxObjects = 1 << 14, kMaxNames = 1 << 16;
  // Of each process: wake-ups through objects with names, and the latest of those without (most are private memory).
  static constexpr size_t kKept = 8192, kKeptUnnamed = 256;

  // One process, as others see it.
  class Process {
   public:
    virtual ~Process() = default;
    // `waker` of process `from` let go on whoever waits on `object` of this process. `from` may be this process itself.
    virtual void OnWokenBy(uint64_t object, HostNs at, Member from, ThreadIndex waker) = 0;
    virtual uint32_t Pid() const = 0;
    virtual std::string_view Name() const = 0;
    virtual std::string ThreadName(ThreadIndex thread) const = 0;
    // Goes on with a walk back that has come to a thread of this process. Returns how far back it knows; the charges fill
    // [that, walk.from) without gaps, latest first. Nothing known: walk.from.
    virtual HostNs WalkBackFrom(const ForeignWalk& walk, std::vector<ForeignCharge>* charges) {
      (void)charges;
      return walk.from;
    }
    // What happened before will not be asked for again by this process's steps.
    virtual HostNs NeedsSince() const { return INT64_MAX; }
    // A wake-up before that, told late, could come after its step has been told of: live, or from a capture, but not both.
    virtual HostNs TakesLateWakesSince() const { return INT64_MIN; }
  };

  Member Join(Process* process);
  // Its names are forgotten; its number is not given again.
  void Leave(Member member);
  // nullptr when it has left.
  Process* Get(Member member) const { return member < members_.size() ? members_[member].process : nullptr; }
  // Since when the processes that `member` ever woke may still ask what it did; INT64_MAX: nobody will.
  HostNs NeededSince(Member member) const;

  void OnIdentity(Member member, const IdentityEvent& identity);
  // Cheap when nothing is known of the object.
  void OnWake(Member member, ThreadIndex waker, uint64_t object, HostNs at);

 private:
  struct Known {
    std::string reaches;
    std::vector<std::string> reached_by;
  };
  struct Place {
    Member member;
    uint64_t object;
    bool operator==(const Place&) const = default;
  };
  struct Wake {
    uint64_t object;
    HostNs at;
    ThreadIndex waker;
  };
  // The latest of them.
  struct Wakes {
    std::vector<Wake> wakes;
    size_t next = 0;
    void Add(const Wake& wake, size_t most);
  };
  struct Entry {
    Process* process = nullptr;
    absl::flat_hash_map<uint64_t, Known> objects;
    size_t names = 0;
    Wakes named, unnamed_descriptors, unnamed_memory;
    std::vector<Member> woke;  // other processes that it woke at some time
  };
  using Places = absl::flat_hash_map<std::string, std::vector<Place>>;  // by name
  static void Remove(const std::string& name, const Place& place, Places* places);
  void Forget(const Place& place, const Known& known);
  void HandOn(Member member, const Wake& wake, const Place& place);
  void HandOnLate(Member member, const Wake& wake, const Place& place);
  void HandOnEarlierWakesTo(const Place& place, std::string_view name);
  void HandOnEarlierWakesOf(const Place& place, std::string_view reaches);

  std::vector<Entry> members_;
  Places waits_at_, sends_to_;
  std::vector<Place> reached_;  // scratch
};

}  // namespace stallscope
