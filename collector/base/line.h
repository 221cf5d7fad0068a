// The lines of the stall budget (docs/budget.md section 3), in display order. Exactly one line is charged at every
// instant.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stallscope {

// X(enumerator, "name", group). The order of the gpu kernel classes is the priority when several run at once.
#define STALLSCOPE_LINES(X)                         \
  X(kGpuGemm, "gpu.gemm", kGpuUseful)               \
  X(kGpuAttention, "gpu.attention", kGpuUseful)     \
  X(kGpuMoe, "gpu.moe", kGpuUseful)                 \
  X(kGpuNormAct, "gpu.norm_act", kGpuUseful)        \
  X(kGpuFill, "gpu.fill", kGpuOverhead)             \
  X(kGpuQuant, "gpu.quant", kGpuUseful)             \
  X(kGpuKvCache, "gpu.kv_cache", kGpuUseful)        \
  X(kGpuSampling, "gpu.sampling", kGpuUseful)       \
  X(kGpuCollective, "gpu.collective", kGpuUseful)   \
  X(kGpuOther, "gpu.other", kGpuUseful)             \
  X(kGpuGraph, "gpu.graph", kGpuUseful)             \
  X(kGpuCopyH2d, "gpu.copy_h2d", kGpuOverhead)      \
  X(kGpuCopyD2h, "gpu.copy_d2h", kGpuOverhead)      \
  X(kGpuCopyD2d, "gpu.copy_d2d", kGpuOverhead)      \
  X(kGpuCopyP2p, "gpu.copy_p2p", kGpuOverhead)      \
  X(kGpuMemset, "gpu.memset", kGpuOverhead)         \
  X(kGpuGap, "gpu.gap", kGpuOverhead)               \
  X(kHostLaunch, "host.launch", kHost)              \
  X(kHostSyncOverwait, "host.sync_overwait", kHost) \
  X(kHostWakeup, "host.wakeup", kHost)              \
  X(kHostAlloc, "host.alloc", kHost)                \
  X(kHostGraphBuild, "host.graph_build", kHost)     \
  X(kHostModuleLoad, "host.module_load", kHost)     \
  X(kHostCopyApi, "host.copy_api", kHost)           \
  X(kHostLock, "host.lock", kHost)                  \
  X(kHostGil, "host.gil", kHost)                    \
  X(kHostWaitThread, "host.wait_thread", kHost)     \
  X(kHostIpc, "host.ipc", kHost)                    \
  X(kHostIo, "host.io", kHost)                      \
  X(kHostSleep, "host.sleep", kHost)                \
  X(kHostSpin, "host.spin", kHost)                  \
  X(kHostCpu, "host.cpu", kHost)                    \
  X(kHostOffcpu, "host.offcpu", kHost)              \
  X(kIdleNoRequest, "idle.no_request", kIdle)       \
  X(kUnknownLost, "unknown.lost", kUnknown)         \
  X(kUnknownLate, "unknown.late", kUnknown)

enum class LineGroup : uint8_t { kGpuUseful, kGpuOverhead, kHost, kIdle, kUnknown };

enum class Line : uint8_t {
#define STALLSCOPE_X(id, name, group) id,
  STALLSCOPE_LINES(STALLSCOPE_X)
#undef STALLSCOPE_X
      kCount
};
inline constexpr int kLineCount = static_cast<int>(Line::kCount);

struct LineInfo {
  std::string_view name;
  LineGroup group;
};

inline constexpr LineInfo kLines[] = {
#define STALLSCOPE_X(id, name, group) {name, LineGroup::group},
    STALLSCOPE_LINES(STALLSCOPE_X)
#undef STALLSCOPE_X
};

constexpr std::string_view LineName(Line line) { return kLines[static_cast<int>(line)].name; }

// Nanoseconds by line.
using LineSums = std::array<int64_t, kLineCount>;

}  // namespace stallscope
