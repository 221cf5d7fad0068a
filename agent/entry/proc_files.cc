#include "agent/entry/proc_files.h"

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

// The text after the process name, which may hold spaces and parentheses itself: begins at field 3 (state).
const char* FieldsAfterName(const char* stat) noexcept {
  const char* end = strrchr(stat, ')');
  return end != nullptr && end[1] == ' ' ? end + 2 : nullptr;
}

uint64_t NumberField(const char* fields, int wanted) noexcept {
  for (int field = 3; field < wanted; ++field) {
    fields = strchr(fields, ' ');
    if (fields == nullptr) return 0;
    ++fields;
  }
  uint64_t value = 0;
  for (; *fields >= '0' && *fields <= '9'; ++fields) value = value * 10 + static_cast<uint64_t>(*fields - '0');
  return value;
}

}  // namespace

long ReadSmallFile(const char* path, char* buffer, uint32_t capacity) noexcept {
  buffer[0] = '\0';
  const long fd = RawSyscall(SYS_open, AsArgument(path), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return fd;
  const long count = RawSyscall(SYS_read, fd, AsArgument(buffer), capacity - 1);
  RawSyscall(SYS_close, fd);
  buffer[count > 0 ? count : 0] = '\0';
  return count;
}

void ReadIdentity(ProcessIdentity* identity) noexcept {
  memset(identity, 0, sizeof(*identity));
  char text[1024];
  if (ReadSmallFile("/proc/sys/kernel/random/boot_id", text, sizeof(text)) >= 36) memcpy(identity->boot_id, text, 36);
  const long path_bytes = RawSyscall(SYS_readlink, AsArgument("/proc/self/exe"), AsArgument(identity->executable),
                                     sizeof(identity->executable) - 1);
  identity->executable[path_bytes > 0 ? path_bytes : 0] = '\0';
  RawSyscall(SYS_prctl, PR_GET_NAME, AsArgument(identity->comm));
  // The calling thread's name; the process's is that of its first thread.
  if (const long count = ReadSmallFile("/proc/self/comm", text, sizeof(text)); count > 1) {
    const uint32_t bytes = static_cast<uint32_t>(count - 1) < 15 ? static_cast<uint32_t>(count - 1) : 15;
    memcpy(identity->comm, text, bytes);
    identity->comm[bytes] = '\0';
  }
  identity->pid = static_cast<uint32_t>(RawSyscall(SYS_getpid));
  identity->parent_pid = static_cast<uint32_t>(RawSyscall(SYS_getppid));
  identity->uid = static_cast<uint32_t>(RawSyscall(SYS_geteuid));
  if (ReadSmallFile("/proc/self/stat", text, sizeof(text)) > 0) {
    if (const char* fields = FieldsAfterName(text)) identity->start_ticks = NumberField(fields, 22);
  }
}

uint32_t ThreadCount() noexcept {
  char text[1024];
  if (ReadSmallFile("/proc/self/stat", text, sizeof(text)) <= 0) return 0;
  const char* fields = FieldsAfterName(text);
  return fields != nullptr ? static_cast<uint32_t>(NumberField(fields, 20)) : 0;
}

bool LeaderIsZombie() noexcept {
  // /proc/self/stat describes the first thread.
  char text[1024];
  if (ReadSmallFile("/proc/self/stat", text, sizeof(text)) <= 0) return false;
  const char* fields = FieldsAfterName(text);
  return fields != nullptr && *fields == 'Z';
}

bool TscIsTrustworthy() noexcept {
  int mode = 0;
  if (RawSyscall(SYS_prctl, PR_GET_TSC, AsArgument(&mode)) == 0 && mode == PR_TSC_SIGSEGV) return false;
  char source[64];
  if (ReadSmallFile("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source)) <= 0 ||
      strcmp(source, "tsc\n") != 0) {
    return false;
  }
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

}  // namespace stallscope::agent
