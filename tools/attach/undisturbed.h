// What the injector makes of itself while it works on a thread of the target; undone where the scope ends. One thread.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

namespace stallscope::attach {

// Stops of the target come as SIGCHLD, which must not be lost; and a nap of 10 us must not become one of 60.
class Waiting {
 public:
  Waiting() : slack_(prctl(PR_GET_TIMERSLACK)) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before_);
    prctl(PR_SET_TIMERSLACK, 1);
  }
  ~Waiting() {
    prctl(PR_SET_TIMERSLACK, slack_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  sigset_t before_;
  const int slack_;
};

// Between the first changed register and the last one put back nothing may end this program, and nothing hold it up that
// can be helped: while it waits for the processor, a thread of the target stands still.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    const sched_param first = {1};
    is_first_ = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
  }
  ~Undisturbed() {
    const sched_param ordinary = {0};
    if (is_first_) sched_setscheduler(0, SCHED_OTHER, &ordinary);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t before_;
  bool is_first_ = false;
};

}  // namespace stallscope::attach
