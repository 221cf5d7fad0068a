// What a reader of frames accepts. The other end may be broken or hostile: everything it can make grow has an end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallscope::ingest {

inline constexpr size_t kMaxFrameBytes = 4 * 1024 * 1024;
inline constexpr uint32_t kIdLimit = 1u << 24;  // ids are below
inline constexpr size_t kMaxStringBytes = 64 * 1024;
inline constexpr size_t kMaxThreadNameBytes = 256;

// Numbers that the collector itself gives start here, so that they never meet the agent's, which count up from 1:
// objects and threads read from the memfd, and threads found in /proc.
inline constexpr uint32_t kFirstCollectorId = 1u << 23;
inline constexpr uint32_t kFirstSampledThreadId = 3u << 22;

// Names, objects and threads of one process; what passes it is counted and left out.
inline constexpr size_t kMaxRegistryBytes = 128 * 1024 * 1024;
inline constexpr uint32_t kMaxThreads = 1u << 16;

// Names of one object that processes share: an epoll set has one for each descriptor in it.
inline constexpr size_t kMaxIdentityBytes = 256;
inline constexpr int kMaxIdentityNames = 256;

// Times beyond are not times (about 146 years after boot).
inline constexpr int64_t kMaxHostNs = int64_t{1} << 62;

}  // namespace stallscope::ingest
