// What a process's objects are for other processes: finds out, from /proc, which addresses lie in shared memory and what its
// descriptors lead to, and says so in frames (Intern.Identity) that go to the analysis and the capture alike.
//
//   shared memory   device and inode of the mapping, offset in it (POSIX and System V memory, memfd, MAP_SHARED across fork)
//   pipe            its inode: both ends have the same; one with a name: device and inode of that
//   unix socket     its inode and its peer's (UnixSockets)
//   unix name       what a datagram was sent to (wire::UnixNameObject): the inode of the socket bound to it. The name must be
//                   spelled as it was bound, or as that is seen from the sender's folder
//   TCP             both addresses, from the process's own network namespace; the ends match on one host only
//   eventfd         the kernel's number of it (fdinfo, Linux 5.2)
//   epoll set       all of the above for its members, from fdinfo
//
// Fed with the objects that the agent introduces; a new descriptor is looked up before the events that use it are decoded, a
// known one again every second, since numbers are used again. Where the kernel was asked just before and had not told of it,
// it is looked up as soon as it may be asked again (wants_look). Single thread. What cannot be read has no identity: its waits
// are shown without a waker of another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/main/proc_files.h"
#include "collector/main/unix_sockets.h"

namespace stallscope::v1 {
class Intern;
}

namespace stallscope {

class ObjectIdentities {
 public:
  static constexpr size_t kMaxDescriptors = 1024, kMaxUnixNames = 1024, kMaxMembers = 200;

  ObjectIdentities(const ProcFiles* proc, uint32_t pid, UnixSockets* unix_sockets)
      : proc_(proc), pid_(pid), unix_sockets_(unix_sockets) {}

  // True: something in it should be looked up.
  bool OnObjects(const v1::Intern& intern);
  // Adds what is new or has changed to `found`.
  void LookUp(HostNs now, v1::Intern* found);
  // Something that had to be put off can be looked up now.
  bool wants_look(HostNs now) const { return now >= put_off_until_; }

 private:
  struct Names {
    std::string reaches;
    std::vector<std::string> reached_by;
    bool IsNothing() const { return reaches.empty() && reached_by.empty(); }
    bool operator==(const Names&) const = default;
  };
  // A descriptor or a unix name.
  struct Known {
    HostNs next_look = INT64_MIN;
    Names names;
  };
  // Connections of the network namespace, read at most once a look-up.
  struct Connections {
    bool read = false;
    absl::flat_hash_map<uint64_t, Names> by_inode;
  };

  // `put_off`: set when a later answer may tell more.
  Names OfDescriptor(uint32_t fd, HostNs now, bool in_a_set, Connections* connections, bool* put_off) const;
  Names OfSocket(uint64_t inode, HostNs now, Connections* connections, bool* put_off) const;
  Names OfUnixName(uint64_t object, HostNs now, bool* put_off) const;
  bool HasEnded() const;
  void LookUpAddresses(v1::Intern* found);
  static void Say(uint64_t object, const Names& names, v1::Intern* found);

  const ProcFiles* const proc_;
  const uint32_t pid_;
  UnixSockets* const unix_sockets_;
  absl::flat_hash_map<uint64_t, Known> known_;  // by object
  size_t descriptors_ = 0, unix_names_ = 0;     // of them
  std::vector<uint64_t> new_addresses_;
  HostNs maps_read_at_ = INT64_MIN;
  HostNs put_off_until_ = INT64_MAX;
};

}  // namespace stallscope
