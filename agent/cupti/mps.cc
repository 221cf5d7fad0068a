#include "agent/cupti/mps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cupti/text.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kStateMps = 13;  // stallscope.v1.State.What
// Where the driver and the daemon meet when CUDA_MPS_PIPE_DIRECTORY says nothing.
constexpr char kUsualFolder[] = "/tmp/nvidia-mps";

bool g_pipe_is_there = false;
bool g_asked_for_kernels = false;

bool IsPipe(const char* path) noexcept {
  struct stat status = {};
  if (static_cast<long>(
          RawSyscall(SYS_newfstatat, static_cast<uint64_t>(AT_FDCWD), AsArgument(path), AsArgument(&status), 0)) < 0) {
    return false;
  }
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

}  // namespace

void LookForMps() noexcept {
  const auto get = STALLSCOPE_REAL(getenv);
  const char* folder = get("CUDA_MPS_PIPE_DIRECTORY");
  if (folder == nullptr || folder[0] == '\0') folder = kUsualFolder;
  char path[512];
  if (strlen(folder) + sizeof("/control") > sizeof(path)) return;
  Text(path, sizeof(path)).Add(folder).Add("/control");
  g_pipe_is_there = IsPipe(path);
  const char* kernels = get("STALLSCOPE_MPS_KERNELS");
  g_asked_for_kernels = kernels != nullptr && strcmp(kernels, "1") == 0;
}

bool KernelsMayBeTraced(ActivityDecoder::Mps said) noexcept {
  enum class Told : uint8_t { kNothing, kMaybe, kYes, kNo };
  static Told told = Told::kNothing;
  Told now = g_pipe_is_there ? Told::kMaybe : Told::kNothing;
  if (said == ActivityDecoder::Mps::kYes) now = Told::kYes;
  if (said == ActivityDecoder::Mps::kNo) now = told == Told::kNothing ? Told::kNothing : Told::kNo;
  const bool suspected = now == Told::kMaybe || now == Told::kYes;
  if (now != told) {
    told = now;
    const char* how = now == Told::kMaybe ? "the MPS daemon's pipe is there"
                      : now == Told::kYes ? "its context says so"
                                          : "its contexts are no clients of MPS";
    ReportState(kStateMps, suspected ? (g_asked_for_kernels ? 2 : 1) : 0, how);
  }
  return !suspected || g_asked_for_kernels;
}

}  // namespace stallscope::agent
