#include "collector/main/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace stallscope {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// A /proc file at once; "" when it cannot be read.
std::string ReadSmall(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof(buffer));
  close(fd);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

// The next number of a text, moving past it; 0 when there is none.
uint64_t NextNumber(std::string_view* text) {
  while (!text->empty() && (text->front() < '0' || text->front() > '9')) text->remove_prefix(1);
  uint64_t value = 0;
  const auto result = std::from_chars(text->data(), text->data() + text->size(), value);
  text->remove_prefix(static_cast<size_t>(result.ptr - text->data()));
  return value;
}

std::string_view NextWord(std::string_view* text) {
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(word.size());
  return word;
}

uint64_t ToNumber(std::string_view word) { return NextNumber(&word); }

// pid (name) state ppid ...; the name may hold blanks and parentheses, so its end is the last one.
std::optional<ProcStat> ParseStat(const std::string& text) {
  const size_t open_at = text.find('('), close_at = text.rfind(')');
  if (open_at == std::string::npos || close_at == std::string::npos || close_at < open_at) return std::nullopt;
  static const uint64_t ns_per_tick = kNsPerSecond / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  ProcStat stat;
  stat.name = text.substr(open_at + 1, close_at - open_at - 1);
  std::string_view rest = std::string_view(text).substr(close_at + 1);
  for (int field = 3; field <= 22; ++field) {
    const std::string_view word = NextWord(&rest);
    if (word.empty()) return std::nullopt;
    if (field == 3) stat.state = word.front();
    if (field == 14 || field == 15) stat.cpu_ns += ToNumber(word) * ns_per_tick;
    if (field == 20) stat.threads = static_cast<uint32_t>(ToNumber(word));
    if (field == 22) stat.start_ticks = ToNumber(word);
  }
  return stat;
}

uint64_t FieldAfter(const std::string& text, std::string_view label) {
  const size_t at = text.find(label);
  if (at == std::string::npos) return 0;
  return ToNumber(std::string_view(text).substr(at + label.size()));
}

}  // namespace

std::optional<ProcStat> ProcFiles::Process(uint32_t pid) const {
  return ParseStat(ReadSmall(absl::StrCat(root_, "/", pid, "/stat")));
}

std::optional<ProcStat> ProcFiles::Thread(uint32_t pid, uint32_t tid) const {
  return ParseStat(ReadSmall(absl::StrCat(root_, "/", pid, "/task/", tid, "/stat")));
}

std::vector<uint32_t> ProcFiles::Threads(uint32_t pid) const {
  std::vector<uint32_t> tids;
  DIR* folder = opendir(absl::StrCat(root_, "/", pid, "/task").c_str());
  if (folder == nullptr) return tids;
  while (const dirent* entry = readdir(folder)) {
    const uint64_t tid = ToNumber(entry->d_name);
    if (tid != 0) tids.push_back(static_cast<uint32_t>(tid));
  }
  closedir(folder);
  return tids;
}

std::optional<ProcThreadTimes> ProcFiles::ThreadTimes(uint32_t pid, uint32_t tid) const {
  const std::string text = ReadSmall(absl::StrCat(root_, "/", pid, "/task/", tid, "/schedstat"));
  if (text.empty()) return std::nullopt;
  std::string_view rest = text;
  ProcThreadTimes times;
  times.on_cpu_ns = NextNumber(&rest);
  times.run_delay_ns = NextNumber(&rest);
  times.runs = NextNumber(&rest);
  return times;
}

std::optional<ProcThreadStatus> ProcFiles::ThreadStatus(uint32_t pid, uint32_t tid) const {
  const std::string text = ReadSmall(absl::StrCat(root_, "/", pid, "/task/", tid, "/status"));
  if (text.empty()) return std::nullopt;
  ProcThreadStatus status;
  constexpr std::string_view kName = "Name:\t";
  if (text.compare(0, kName.size(), kName) == 0) {
    status.name = text.substr(kName.size(), text.find('\n') - kName.size());
  }
  status.voluntary_switches = FieldAfter(text, "\nvoluntary_ctxt_switches:");
  status.involuntary_switches = FieldAfter(text, "\nnonvoluntary_ctxt_switches:");
  if (const size_t at = text.find("\nNSpid:"); at != std::string::npos) {
    // One number per namespace, the innermost last.
    const std::string_view line = std::string_view(text).substr(at + 7, text.find('\n', at + 1) - at - 7);
    status.own_tid = static_cast<uint32_t>(ToNumber(line.substr(line.find_last_of(" \t") + 1)));
  }
  return status;
}

std::string ProcFiles::DescriptorLink(uint32_t pid, uint32_t fd) const {
  char link[256];
  const ssize_t bytes = readlink(absl::StrCat(root_, "/", pid, "/fd/", fd).c_str(), link, sizeof(link));
  return bytes > 0 ? std::string(link, static_cast<size_t>(bytes)) : std::string();
}

bool ProcFiles::IsDiskFile(uint32_t pid, uint32_t fd) const {
  const std::string link = DescriptorLink(pid, fd);
  for (const char* memory : {"/memfd:", "/dev/shm/", "/proc/", "/sys/", "/SYSV"}) {
    if (link.compare(0, std::strlen(memory), memory) == 0) return false;
  }
  struct stat status = {};
  if (stat(absl::StrCat(root_, "/", pid, "/fd/", fd).c_str(), &status) != 0) return false;
  return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
}

std::string ProcFiles::NamedPipe(uint32_t pid, uint32_t fd) const {
  struct stat status = {};
  if (stat(absl::StrCat(root_, "/", pid, "/fd/", fd).c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return {};
  return absl::StrCat(status.st_dev, ":", status.st_ino);
}

uint64_t ProcFiles::InodeOfPath(uint32_t pid, const std::string& path) const {
  struct stat status = {};
  const char* from = !path.empty() && path[0] == '/' ? "/root" : "/cwd/";
  return stat(absl::StrCat(root_, "/", pid, from, path).c_str(), &status) == 0 ? status.st_ino : 0;
}

std::string ProcFiles::CurrentFolder(uint32_t pid) const {
  char link[4096];
  const ssize_t bytes = readlink(absl::StrCat(root_, "/", pid, "/cwd").c_str(), link, sizeof(link));
  return bytes > 0 ? std::string(link, static_cast<size_t>(bytes)) : std::string();
}

std::string ProcFiles::Text(const std::string& path) const {
  constexpr size_t kMost = 4 << 20;
  std::string text;
  const int fd = open(absl::StrCat(root_, "/", path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char piece[16384];
  ssize_t got;
  while (text.size() < kMost && (got = read(fd, piece, sizeof(piece))) > 0)
    text.append(piece, static_cast<size_t>(got));
  close(fd);
  return text;
}

bool ProcFiles::IsAlive(uint32_t pid, uint64_t start_ticks) const {
  const std::optional<ProcStat> stat = Process(pid);
  if (!stat.has_value() || (start_ticks != 0 && stat->start_ticks != start_ticks)) return false;
  return (stat->state != 'Z' && stat->state != 'X') || stat->threads > 1;
}

}  // namespace stallscope
