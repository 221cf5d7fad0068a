// The system call that a thread is parked in, as /proc/PID/task/TID/syscall tells it. Stateless; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stallscope {

struct ParkedCall {
  int64_t number = -1;  // -1: blocked, but in no system call
  uint64_t arguments[6] = {};
  uint64_t stack_pointer = 0, program_counter = 0;

  friend bool operator==(const ParkedCall&, const ParkedCall&) = default;
};

// nullopt: it runs, or the text is none of that file.
std::optional<ParkedCall> ParseParkedCall(const std::string& text);

// "futex", "poll", "syscall_512".
std::string SystemCallName(int64_t number);

// The descriptor that the call is about; -1: none.
int DescriptorOf(const ParkedCall& call);

// What the call waits for, as a record of the agent would name it: an address, or wire::FdObject; 0: nothing of the kind.
uint64_t ObjectOf(const ParkedCall& call);

}  // namespace stallscope
