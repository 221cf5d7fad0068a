#include "collector/main/parked_call.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "proto/wire/shm.h"

namespace stallscope {
namespace {

struct Name {
  int64_t number;
  const char* name;
  bool first_is_descriptor;
};
// Those that threads are found in; the rest go by number.
constexpr Name kNames[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_pread64, "pread64", true},
    {SYS_pwrite64, "pwrite64", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_flock, "flock", true},
    {SYS_poll, "poll", false},
    {SYS_ppoll, "ppoll", false},
    {SYS_select, "select", false},
    {SYS_pselect6, "pselect6", false},
    {SYS_epoll_wait, "epoll_wait", true},
    {SYS_epoll_pwait, "epoll_pwait", true},
    {441, "epoll_pwait2", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept4", true},
    {SYS_connect, "connect", true},
    {SYS_recvfrom, "recvfrom", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_recvmmsg, "recvmmsg", true},
    {SYS_sendto, "sendto", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_sendmmsg, "sendmmsg", true},
    {SYS_nanosleep, "nanosleep", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_futex, "futex", false},
    {449, "futex_waitv", false},
    {SYS_wait4, "wait4", false},
    {SYS_waitid, "waitid", false},
    {SYS_pause, "pause", false},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", false},
    {SYS_rt_sigsuspend, "rt_sigsuspend", false},
    {SYS_msgrcv, "msgrcv", false},
    {SYS_semop, "semop", false},
    {SYS_semtimedop, "semtimedop", false},
    {SYS_io_getevents, "io_getevents", false},
    {426, "io_uring_enter", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_restart_syscall, "restart_syscall", false},
};

const Name* Find(int64_t number) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [number](const Name& name) { return name.number == number; });
  return found != std::end(kNames) ? found : nullptr;
}

}  // namespace

std::optional<ParkedCall> ParseParkedCall(const std::string& text) {
  ParkedCall call;
  long number = 0;
  unsigned long word[8] = {};
  // "running", "-1 SP PC", or the number with six arguments.
  const int fields = sscanf(text.c_str(), "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &number, &word[0], &word[1], &word[2],
                            &word[3], &word[4], &word[5], &word[6], &word[7]);
  call.number = number;
  if (fields == 3 && number == -1) {
    call.stack_pointer = word[0], call.program_counter = word[1];
    return call;
  }
  if (fields != 9) return std::nullopt;
  std::copy(word, word + 6, call.arguments);
  call.stack_pointer = word[6], call.program_counter = word[7];
  return call;
}

std::string SystemCallName(int64_t number) {
  const Name* name = Find(number);
  return name != nullptr ? name->name : absl::StrCat("syscall_", number);
}

int DescriptorOf(const ParkedCall& call) {
  const Name* name = Find(call.number);
  return name != nullptr && name->first_is_descriptor ? static_cast<int>(call.arguments[0]) : -1;
}

uint64_t ObjectOf(const ParkedCall& call) {
  if (call.number == SYS_futex) return call.arguments[0];
  const int descriptor = DescriptorOf(call);
  return descriptor >= 0 ? wire::FdObject(descriptor) : 0;
}

}  // namespace stallscope
