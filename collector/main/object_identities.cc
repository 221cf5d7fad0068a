#include "collector/main/object_identities.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/wire/shm.h"
#include "proto/wire/unix_name.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr int64_t kLookAgainNs = 1'000'000'000, kReadMapsAgainNs = 50'000'000;
constexpr size_t kMaxNewAddresses = 4096;
constexpr uint64_t kFdObject = wire::FdObject(0);

using Fields = std::vector<absl::string_view>;

uint64_t Number(absl::string_view text, int base = 10) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// The number in "socket:[4711]"; 0 when the link is of another kind.
uint64_t InodeOf(absl::string_view link, absl::string_view kind) {
  if (link.size() < kind.size() + 3 || link.substr(0, kind.size()) != kind) return 0;
  return Number(link.substr(kind.size() + 2));
}

// An IPv4 address that came through an IPv6 socket is the same address.
std::string Endpoint(absl::string_view text) {
  constexpr absl::string_view kMapped = "0000000000000000FFFF0000";
  if (text.size() > 32 && text.substr(0, kMapped.size()) == kMapped) text.remove_prefix(kMapped.size());
  return std::string(text);
}

Fields Words(absl::string_view line) { return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty()); }

}  // namespace

bool ObjectIdentities::OnObjects(const v1::Intern& intern) {
  bool any = false;
  for (const v1::Intern::Object& object : intern.objects()) {
    const uint64_t value = object.value();
    const bool is_descriptor = (value & ~uint64_t{UINT32_MAX}) == kFdObject;
    if (is_descriptor || wire::IsUnixNameObject(value)) {
      size_t* count = is_descriptor ? &descriptors_ : &unix_names_;
      const size_t most = is_descriptor ? kMaxDescriptors : kMaxUnixNames;
      if (!known_.contains(value)) {
        if (*count >= most) continue;
        ++*count;
      }
      known_[value].next_look = INT64_MIN;
      any = true;
    } else if (value >= 4096 && value < wire::kUnixNames && new_addresses_.size() < kMaxNewAddresses) {
      new_addresses_.push_back(value);
      any = true;
    }
  }
  return any;
}

void ObjectIdentities::Say(uint64_t object, const Names& names, v1::Intern* found) {
  v1::Intern::Identity* identity = found->add_identities();
  identity->set_value(object);
  identity->set_reaches(names.reaches);
  for (const std::string& name : names.reached_by) identity->add_reached_by(name);
}

void ObjectIdentities::LookUp(HostNs now, v1::Intern* found) {
  Connections connections;
  put_off_until_ = INT64_MAX;
  for (auto& [object, known] : known_) {
    if (known.next_look <= now) {
      bool put_off = false;
      Names names = wire::IsUnixNameObject(object)
                        ? OfUnixName(object, now, &put_off)
                        : OfDescriptor(static_cast<uint32_t>(object), now, false, &connections, &put_off);
      // Only sock_diag may have to be asked again.
      known.next_look = put_off ? unix_sockets_->asked_at() + UnixSockets::kAskAgainNs : now + kLookAgainNs;
      // A process that has ended has no descriptors any more; what it had is what its last records tell of.
      if (names != known.names && (!names.IsNothing() || !HasEnded())) {
        Say(object, names, found);
        known.names = std::move(names);
      }
    }
    if (known.next_look < now + kLookAgainNs / 2) put_off_until_ = std::min(put_off_until_, known.next_look);
  }
  if (new_addresses_.empty()) return;
  const HostNs may_read_at = maps_read_at_ == INT64_MIN ? now : maps_read_at_ + kReadMapsAgainNs;
  if (now < may_read_at) {
    put_off_until_ = std::min(put_off_until_, may_read_at);
    return;
  }
  maps_read_at_ = now;
  LookUpAddresses(found);
}

bool ObjectIdentities::HasEnded() const {
  const std::optional<ProcStat> stat = proc_->Process(pid_);
  return !stat.has_value() || stat->state == 'Z' || stat->state == 'X';
}

ObjectIdentities::Names ObjectIdentities::OfDescriptor(uint32_t fd, HostNs now, bool in_a_set, Connections* connections,
                                                       bool* put_off) const {
  Names names;
  const std::string link = proc_->DescriptorLink(pid_, fd);
  if (const uint64_t pipe = InodeOf(link, "pipe"); pipe != 0) {
    names.reaches = absl::StrCat("pipe ", pipe);
    names.reached_by.push_back(names.reaches);
  } else if (const uint64_t socket = InodeOf(link, "socket"); socket != 0) {
    names = OfSocket(socket, now, connections, put_off);
  } else if (!link.empty() && link[0] == '/') {
    if (proc_->IsDiskFile(pid_, fd)) {
      names.reaches = std::string(kDiskFile);
    } else if (const std::string named_pipe = proc_->NamedPipe(pid_, fd); !named_pipe.empty()) {
      names.reaches = absl::StrCat("fifo ", named_pipe);
      names.reached_by.push_back(names.reaches);
    }
  } else if (link == "anon_inode:[eventfd]" || link == "anon_inode:[eventpoll]") {
    const std::string text = proc_->Text(absl::StrCat(pid_, "/fdinfo/", fd));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const Fields words = Words(line);
      if (words.size() < 2) continue;
      if (words[0] == "eventfd-id:") {
        names.reaches = absl::StrCat("eventfd ", words[1]);
        names.reached_by.push_back(names.reaches);
      } else if (words[0] == "tfd:" && !in_a_set && names.reached_by.size() < kMaxMembers) {
        const Names member = OfDescriptor(static_cast<uint32_t>(Number(words[1])), now, true, connections, put_off);
        names.reached_by.insert(names.reached_by.end(), member.reached_by.begin(), member.reached_by.end());
      }
    }
    std::sort(names.reached_by.begin(), names.reached_by.end());
    names.reached_by.erase(std::unique(names.reached_by.begin(), names.reached_by.end()), names.reached_by.end());
  }
  return names;
}

ObjectIdentities::Names ObjectIdentities::OfSocket(uint64_t inode, HostNs now, Connections* connections,
                                                   bool* put_off) const {
  if (const UnixSockets::Socket* socket = unix_sockets_->Find(inode, now)) {
    // Without another end it may still be sent to by name, and may be connected later than the kernel was asked.
    if (socket->peer == 0 && unix_sockets_->asked_at() != now) *put_off = true;
    return {socket->peer == 0 ? std::string() : absl::StrCat("unix ", socket->peer), {absl::StrCat("unix ", inode)}};
  }
  if (!connections->read) {
    connections->read = true;
    for (const char* file : {"/net/tcp", "/net/tcp6"}) {
      const std::string text = proc_->Text(absl::StrCat(pid_, file));
      for (const absl::string_view line : absl::StrSplit(text, '\n')) {
        const Fields words = Words(line);
        constexpr absl::string_view kListening = "0A";
        if (words.size() < 10 || words[3] == kListening || Number(words[9]) == 0) continue;
        const std::string here = Endpoint(words[1]), there = Endpoint(words[2]);
        connections->by_inode[Number(words[9])] = {absl::StrCat("tcp ", there, " ", here),
                                                   {absl::StrCat("tcp ", here, " ", there)}};
      }
    }
  }
  const auto found = connections->by_inode.find(inode);
  if (found != connections->by_inode.end()) return found->second;
  *put_off |= unix_sockets_->asked_at() != now;
  return {};
}

ObjectIdentities::Names ObjectIdentities::OfUnixName(uint64_t object, HostNs now, bool* put_off) const {
  std::vector<uint64_t> inodes = unix_sockets_->Named(object, now);
  const UnixSockets::Sockets& sockets = unix_sockets_->sockets();
  if (inodes.empty()) {
    const std::string folder = proc_->CurrentFolder(pid_) + "/";
    for (const auto& [inode, socket] : sockets) {
      if (!socket.datagram || folder.size() < 2 || socket.name.compare(0, folder.size(), folder) != 0) continue;
      const std::string from_here = socket.name.substr(folder.size()), dotted = absl::StrCat("./", from_here);
      for (const std::string& spelled : {from_here, dotted}) {
        if (wire::UnixNameObject(spelled.data(), spelled.size()) == object) inodes.push_back(inode);
      }
    }
    std::sort(inodes.begin(), inodes.end());
  }
  for (const uint64_t inode : inodes) {
    const UnixSockets::Socket& socket = sockets.at(inode);
    // The socket of a server that was there before keeps its name; the path leads to the new one's.
    const bool is_there =
        inodes.size() == 1 || socket.name[0] == '\0' || proc_->InodeOfPath(pid_, socket.name) == socket.file;
    if (is_there) return {absl::StrCat("unix ", inode), {}};
  }
  *put_off |= unix_sockets_->asked_at() != now;
  return {};
}

void ObjectIdentities::LookUpAddresses(v1::Intern* found) {
  std::sort(new_addresses_.begin(), new_addresses_.end());
  const std::string maps = proc_->Text(absl::StrCat(pid_, "/maps"));
  auto next = new_addresses_.begin();
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    // 7f00-7f10 rw-s 00001000 00:01 4711 /dev/shm/name
    const Fields words = Words(line);
    if (words.size() < 5 || words[1].size() < 4) continue;
    const size_t dash = words[0].find('-');
    if (dash == absl::string_view::npos) continue;
    const uint64_t begin = Number(words[0].substr(0, dash), 16), end = Number(words[0].substr(dash + 1), 16);
    for (next = std::lower_bound(next, new_addresses_.end(), begin); next != new_addresses_.end() && *next < end;
         ++next) {
      if (words[1][3] != 's' || words[4] == "0") continue;
      Names names;
      names.reaches = absl::StrCat("memory ", words[3], " ", words[4], "+", Number(words[2], 16) + (*next - begin));
      names.reached_by.push_back(names.reaches);
      Say(*next, names, found);
    }
  }
  new_addresses_.clear();
}

}  // namespace stallscope
