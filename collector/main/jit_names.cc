#include "collector/main/jit_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/ingest/limits.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr size_t kBytesARead = 1 << 16;
constexpr size_t kMostReads = 1024;  // 64 MiB a look
constexpr size_t kLongestName = 4096;

// A hexadecimal number and the space behind it.
bool TakeHex(std::string_view* text, uint64_t* value) {
  const size_t space = text->find(' ');
  if (space == std::string_view::npos) return false;
  std::string_view digits = text->substr(0, space);
  if (digits.substr(0, 2) == "0x") digits.remove_prefix(2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  text->remove_prefix(space + 1);
  return true;
}

}  // namespace

JitNames::JitNames(std::string root, uint32_t own_pid, uint32_t uid)
    : root_(std::move(root)), path_(absl::StrCat("/tmp/perf-", own_pid, ".map")), uid_(uid) {}

bool JitNames::OnStacks(const v1::Intern& intern, const ProcessNames& names) {
  const size_t before = wanted_.size();
  for (const v1::Intern::Stack& stack : intern.stacks()) {
    for (const uint64_t address : stack.frames()) {
      if (wanted_.size() >= kMostWanted) break;
      if (names.Module(address - 1, stack.generation()) == nullptr) wanted_.insert(address);
    }
  }
  return wanted_.size() != before;
}

void JitNames::TakeLine(std::string_view line) {
  uint64_t begin = 0, bytes = 0;
  if (!TakeHex(&line, &begin) || !TakeHex(&line, &bytes) || bytes == 0 || codes_.size() >= kMostNames) return;
  codes_[begin] = {bytes, std::string(line.substr(0, kLongestName))};
}

void JitNames::ReadOn() {
  int fd = -1;
  for (const std::string& path : {root_ + path_, path_}) {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) break;
  }
  if (fd < 0) return;
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == uid_) {
    std::vector<char> buffer(kBytesARead);
    for (size_t reads = 0; reads < kMostReads; ++reads) {
      const ssize_t got = pread(fd, buffer.data(), buffer.size(), read_until_);
      if (got <= 0) break;
      read_until_ += got;
      std::string_view text(buffer.data(), static_cast<size_t>(got));
      for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
        cut_line_.append(text.substr(0, end));
        TakeLine(cut_line_);
        cut_line_.clear();
      }
      if (cut_line_.size() < kLongestName) cut_line_.append(text);
    }
  }
  close(fd);
}

void JitNames::LookUp(v1::Intern* found) {
  if (wanted_.empty()) return;
  ReadOn();
  for (auto wanted = wanted_.begin(); wanted != wanted_.end();) {
    const uint64_t address = *wanted - 1;
    auto code = codes_.upper_bound(address);
    const bool known = code != codes_.begin() && address - (--code)->first < code->second.bytes;
    if (known && said_.insert(code->first).second) {
      v1::Intern::Code* said = found->add_codes();
      said->set_begin(code->first);
      said->set_bytes(code->second.bytes);
      said->set_name(code->second.name);
    }
    if (known) {
      wanted_.erase(wanted++);
    } else {
      ++wanted;
    }
  }
}

}  // namespace stallscope
