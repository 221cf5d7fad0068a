#include "agent/entry/own_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {

int MoveFdHigh(int fd) noexcept {
  if (fd >= kFirstOwnFd) return fd;
  const long high = RawSyscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kFirstOwnFd);
  RawSyscall(SYS_close, fd);
  return high < 0 ? -1 : static_cast<int>(high);
}

OwnFd OwnFdOf(int fd) noexcept {
  struct stat status;  // the kernel's own layout on x86-64
  if (fd < 0 || RawSyscall(SYS_fstat, fd, AsArgument(&status)) != 0) return {};
  return {fd, status.st_dev, status.st_ino};
}

bool StillOurs(const OwnFd& own) noexcept {
  if (own.fd < 0) return false;
  const OwnFd now = OwnFdOf(own.fd);
  return now.fd == own.fd && now.device == own.device && now.inode == own.inode;
}

void CloseOwn(OwnFd* own) noexcept {
  if (StillOurs(*own)) RawSyscall(SYS_close, own->fd);
  own->fd = -1;
}

}  // namespace stallscope::agent
