#include "tests/workloads/story/one_wait.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tests/workloads/truth_note.h"

namespace workloads {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

timespec ToTimespec(uint64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
}

timespec RealTimeIn(uint64_t ns) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return ToTimespec(static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec) + ns);
}

bool UsesTimer(OsRow row) {
  return row == OsRow::kEpollWait || row == OsRow::kEpollPwait || row == OsRow::kPoll || row == OsRow::kRead;
}

}  // namespace

OneWait::OneWait(OsRow row) : row_(row) {
  prctl(PR_SET_TIMERSLACK, 1);  // the calling thread's: wakes on time
  sem_init(&semaphore_, 0, 0);
  if (UsesTimer(row)) timer_fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (row == OsRow::kEpollWait || row == OsRow::kEpollPwait) {
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, timer_fd_, &event);
  }
  if (row == OsRow::kSemWait) {
    poster_ = std::thread(&OneWait::Post, this);
    pthread_setname_np(poster_.native_handle(), "sem-poster");
  }
}

OneWait::~OneWait() {
  done_ = true;
  if (poster_.joinable()) poster_.join();
  if (epoll_fd_ >= 0) close(epoll_fd_);
  if (timer_fd_ >= 0) close(timer_fd_);
  sem_destroy(&semaphore_);
}

void OneWait::Post() {
  prctl(PR_SET_TIMERSLACK, 1);
  constexpr uint64_t kLookEveryNs = 2'000'000;
  while (!done_) {
    const uint64_t at_ns = post_at_ns_.load();
    const uint64_t now_ns = NowNs();
    if (at_ns != 0 && now_ns >= at_ns) {
      post_at_ns_ = 0;
      sem_post(&semaphore_);
      continue;
    }
    const uint64_t until_ns = at_ns == 0 ? now_ns + kLookEveryNs : std::min(at_ns, now_ns + kLookEveryNs);
    const timespec until = ToTimespec(until_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

void OneWait::ArmTimer(uint64_t ns) {
  itimerspec timer{};
  timer.it_value = ToTimespec(ns);
  timerfd_settime(timer_fd_, 0, &timer, nullptr);
}

uint64_t OneWait::BlockOnce(uint64_t ns) {
  const auto timed = [](auto call) {
    const uint64_t begin_ns = NowNs();
    call();
    return NowNs() - begin_ns;
  };
  switch (row_) {
    case OsRow::kEpollWait: {
      ArmTimer(ns);
      epoll_event event;
      return timed([&] { epoll_wait(epoll_fd_, &event, 1, -1); });
    }
    case OsRow::kEpollPwait: {
      ArmTimer(ns);
      epoll_event event;
      return timed([&] { epoll_pwait(epoll_fd_, &event, 1, -1, nullptr); });
    }
    case OsRow::kPoll: {
      ArmTimer(ns);
      pollfd fd{timer_fd_, POLLIN, 0};
      return timed([&] { poll(&fd, 1, -1); });
    }
    case OsRow::kRead: {
      ArmTimer(ns);
      uint64_t expirations;
      return timed([&] { (void)!read(timer_fd_, &expirations, sizeof expirations); });
    }
    case OsRow::kCondTimedwait: {
      const timespec until = RealTimeIn(ns);
      pthread_mutex_lock(&mutex_);
      const uint64_t took_ns = timed([&] { pthread_cond_timedwait(&condition_, &mutex_, &until); });
      pthread_mutex_unlock(&mutex_);
      return took_ns;
    }
    case OsRow::kSemTimedwait: {
      const timespec until = RealTimeIn(ns);
      return timed([&] { sem_timedwait(&semaphore_, &until); });
    }
    case OsRow::kSemWait:
      post_at_ns_ = NowNs() + ns;
      return timed([&] { sem_wait(&semaphore_); });
    case OsRow::kFutex: {
      const timespec span = ToTimespec(ns);
      return timed([&] { syscall(SYS_futex, &futex_word_, FUTEX_WAIT_PRIVATE, 0, &span, nullptr, 0); });
    }
    case OsRow::kCount:
      break;
  }
  return 0;
}

uint64_t OneWait::Block(uint64_t ns) { return BlockOnce(std::max<uint64_t>(ns, 1)); }

}  // namespace workloads
