// What lies behind descriptors that no hook has seen made: the kernel is asked, by the streaming thread and never by a
// thread of the program.
//
// Such are named pipes and files (open says no more than a path), descriptors that the program was started with, and those
// that came through a socket. A process without a streaming thread gets no answer: there the writes in doubt are all that is
// recorded below the threshold (fd_table.h).
#pragma once

namespace stallscope::agent {

// Program's threads: this descriptor is to be looked at. False: too many are asked for, another time.
bool AskForKind(int fd) noexcept;

}  // namespace stallscope::agent
