// The loader's lock and forks: whoever of the agent's code holds the lock that dl_iterate_phdr, dlopen and dlclose take must not do
// so at the moment at which the process forks. The C library does not free it in the child, which would hang at its next dlopen.
//
// A fork that goes through the agent's hooks first waits until the agent has left the loader, and keeps it out until the child is
// there. What other threads of the program do with the loader is the program's own affair. Any thread, also in signal handlers;
// no lock, and no wait without an end: a fork waits at most 1 s, the loader's user for the fork, at most 5 s from its begin.
#pragma once

#include <sys/types.h>

namespace stallscope::agent {

// The agent is in the loader while one of these lives. May be nested.
class LoaderUse {
 public:
  LoaderUse() noexcept;
  ~LoaderUse();
  LoaderUse(const LoaderUse&) = delete;
  LoaderUse& operator=(const LoaderUse&) = delete;
};

// Nobody of the agent is in the loader while one of these lives. Around the real fork, on the thread that forks.
class LoaderLeftAlone {
 public:
  LoaderLeftAlone() noexcept;
  ~LoaderLeftAlone();
  LoaderLeftAlone(const LoaderLeftAlone&) = delete;
  LoaderLeftAlone& operator=(const LoaderLeftAlone&) = delete;
  // This is the child: there is nobody else in it.
  void InChild() noexcept;

 private:
  bool in_child_ = false;
};

}  // namespace stallscope::agent
