#include "collector/main/object_identities.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/wire/shm.h"
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
    if ((value & ~uint64_t{UINT32_MAX}) == kFdObject) {
      const auto fd = static_cast<uint32_t>(value);
      if (descriptors_.size() < kMaxDescriptors || descriptors_.contains(fd)) {
        descriptors_[fd].next_look = INT64_MIN;
        any = true;
      }
    } else if (value >= 4096 && value < kFdObject && new_addresses_.size() < kMaxNewAddresses) {
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
  for (auto& [fd, descriptor] : descriptors_) {
    if (descriptor.next_look > now) continue;
    descriptor.next_look = now + kLookAgainNs;
    Names names = OfDescriptor(fd, now, false, &connections);
    if (names == descriptor.names) continue;
    Say(kFdObject | fd, names, found);
    descriptor.names = std::move(names);
  }
  if (!new_addresses_.empty() && (maps_read_at_ == INT64_MIN || now - maps_read_at_ >= kReadMapsAgainNs)) {
    maps_read_at_ = now;
    LookUpAddresses(found);
  }
}

ObjectIdentities::Names ObjectIdentities::OfDescriptor(uint32_t fd, HostNs now, bool in_a_set,
                                                       Connections* connections) const {
  Names names;
  const std::string link = proc_->DescriptorLink(pid_, fd);
  if (const uint64_t pipe = InodeOf(link, "pipe"); pipe != 0) {
    names.reaches = absl::StrCat("pipe ", pipe);
    names.reached_by.push_back(names.reaches);
  } else if (const uint64_t socket = InodeOf(link, "socket"); socket != 0) {
    names = OfSocket(socket, now, connections);
  } else if (!link.empty() && link[0] == '/') {
    if (proc_->IsDiskFile(pid_, fd)) names.reaches = std::string(kDiskFile);
  } else if (link == "anon_inode:[eventfd]" || link == "anon_inode:[eventpoll]") {
    const std::string text = proc_->Text(absl::StrCat(pid_, "/fdinfo/", fd));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const Fields words = Words(line);
      if (words.size() < 2) continue;
      if (words[0] == "eventfd-id:") {
        names.reaches = absl::StrCat("eventfd ", words[1]);
        names.reached_by.push_back(names.reaches);
      } else if (words[0] == "tfd:" && !in_a_set && names.reached_by.size() < kMaxMembers) {
        const Names member = OfDescriptor(static_cast<uint32_t>(Number(words[1])), now, true, connections);
        names.reached_by.insert(names.reached_by.end(), member.reached_by.begin(), member.reached_by.end());
      }
    }
    std::sort(names.reached_by.begin(), names.reached_by.end());
    names.reached_by.erase(std::unique(names.reached_by.begin(), names.reached_by.end()), names.reached_by.end());
  }
  return names;
}

ObjectIdentities::Names ObjectIdentities::OfSocket(uint64_t inode, HostNs now, Connections* connections) const {
  if (const uint64_t peer = unix_peers_->PeerOf(inode, now); peer != 0) {
    return {absl::StrCat("unix ", peer), {absl::StrCat("unix ", inode)}};
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
  return found == connections->by_inode.end() ? Names{} : found->second;
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
