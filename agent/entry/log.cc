#include "agent/entry/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/entry/real_calls.h"
#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

struct Line {
  char text[512];
  uint32_t length = 0;

  void Add(const char* piece) noexcept {
    while (*piece != '\0' && length < sizeof(text) - 1) text[length++] = *piece++;
  }
  void Add(int64_t number) noexcept {
    char digits[24];
    int count = 0;
    uint64_t rest = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do digits[count++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) digits[count++] = '-';
    while (count > 0 && length < sizeof(text) - 1) text[length++] = digits[--count];
  }
};

}  // namespace

void Log(const char* text, const char* detail, int64_t number) noexcept {
  const char* target = STALLSCOPE_REAL(getenv)("STALLSCOPE_LOG");
  if (target == nullptr || *target == '\0' || strcmp(target, "0") == 0) return;
  Line line;
  line.Add("stallscope[");
  line.Add(static_cast<int64_t>(RawSyscall(SYS_getpid)));
  line.Add("]: ");
  line.Add(text);
  if (detail != nullptr) line.Add(" "), line.Add(detail);
  if (number != kNoNumber) line.Add(" "), line.Add(number);
  line.Add("\n");
  if (strcmp(target, "1") == 0) {
    if (RawSyscall(SYS_write, 2, AsArgument(line.text), line.length) != -EBADF) return;
    target = "/proc/self/fd/2";  // the streaming thread has a descriptor table of its own, without it
  }
  const long fd = RawSyscall(SYS_open, AsArgument(target), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
  if (fd < 0) return;
  RawSyscall(SYS_write, fd, AsArgument(line.text), line.length);
  RawSyscall(SYS_close, fd);
}

}  // namespace stallscope::agent
