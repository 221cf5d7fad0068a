// The object of a wake-up that went to a unix socket's address and not through a connection: sendto, sendmsg with a name.
//
// Written by the agent, which knows nothing of the socket but the address; read by the collector, which asks the kernel what
// socket is bound to such an address (collector/main/unix_sockets.h). A number of the name's bytes, so that no name has to be
// carried along. Any thread, no failure: two names with one number cost a wrong wake edge.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallscope::wire {

// Above every address of a program, below the descriptors (FdObject).
constexpr uint64_t kUnixNames = 0x7ffe'0000'0000'0000u, kUnixNameMask = 0x0000'ffff'ffff'ffffu;

// The bytes of sun_path that count: a path without its NUL; an abstract name with the NUL that it begins with. None: 0.
constexpr size_t UnixNameBytes(const char* name, size_t capacity) {
  if (capacity == 0 || name[0] == '\0') return capacity > 1 ? capacity : 0;
  size_t bytes = 0;
  while (bytes < capacity && name[bytes] != '\0') ++bytes;
  return bytes;
}

// FNV-1a, folded to 48 bits.
constexpr uint64_t UnixNameObject(const char* name, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3u;
  return kUnixNames | ((hash ^ hash >> 48) & kUnixNameMask);
}
constexpr bool IsUnixNameObject(uint64_t object) { return (object & ~kUnixNameMask) == kUnixNames; }

}  // namespace stallscope::wire
