#include "tools/cli/gpu_checks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/cli/installation.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kChildSeconds = 10;

// Runs in the child: one line "path<TAB>version", or nothing when no name can be loaded.
template <typename Version>
void LoadAndAsk(const std::vector<const char*>& names, const char* function, int output_fd) {
  for (const char* name : names) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    using Ask = int (*)(Version*);
    auto ask = reinterpret_cast<Ask>(dlsym(library, function));
    Version version = 0;
    const int result = ask != nullptr ? ask(&version) : -1;
    const std::string line = absl::StrCat(map != nullptr ? map->l_name : name, "\t", version, "\t", result);
    if (write(output_fd, line.data(), line.size()) < 0) _exit(1);
    return;
  }
}

struct Loaded {
  std::string path;
  int64_t version = 0;
  std::string trouble;  // the child died, or the function failed
};

template <typename Version>
Loaded LoadInChild(const std::vector<const char*>& names, const char* function) {
  Loaded loaded;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return loaded;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    LoadAndAsk<Version>(names, function, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  std::string answer(4096, '\0');
  const ssize_t bytes = read(ends[0], answer.data(), answer.size());
  answer.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::vector<std::string> words = absl::StrSplit(answer, '\t');
  loaded.path = words[0];
  if (words.size() == 3) loaded.version = std::strtoll(words[1].c_str(), nullptr, 10);
  if (WIFSIGNALED(status)) {
    loaded.trouble = absl::StrCat("loading it ended with signal ", WTERMSIG(status));
  } else if (words.size() == 3 && words[2] != "0") {
    loaded.trouble = absl::StrCat(function, " answered error ", words[2]);
  }
  return loaded;
}

std::string SimulatedMark(const std::string& path) {
  return path.find("simgpu") != std::string::npos ? " (simulated GPU)" : "";
}

Check OfLibrary(const char* name, const Loaded& loaded, const std::string& version) {
  Check check{name};
  if (loaded.path.empty()) {
    check.state = CheckState::kWarn;
    check.found = loaded.trouble.empty() ? "not found by the loader" : loaded.trouble;
    check.next = "servers often bring their own: doctor PID looks into a running one";
  } else if (!loaded.trouble.empty()) {
    check.state = CheckState::kWarn;
    check.found = absl::StrCat(loaded.path, SimulatedMark(loaded.path), ": ", loaded.trouble);
    check.next = "check that driver and library belong together";
  } else {
    check.found = absl::StrCat(loaded.path, SimulatedMark(loaded.path), ", ", version);
  }
  return check;
}

}  // namespace

Check CheckDriver(const std::string& root) {
  Check check{"NVIDIA driver"};
  std::ifstream file(root + "/proc/driver/nvidia/version");
  std::string line;
  if (std::getline(file, line)) {
    check.found = line;
    return check;
  }
  check.state = CheckState::kWarn;
  check.found = "not loaded (no /proc/driver/nvidia/version)";
  check.next = "no GPU work to see here; stallscope run --gpu simulated models one";
  return check;
}

Check CheckDevices(const std::string& root) {
  Check check{"GPU devices"};
  std::vector<std::string> devices;
  bool denied = false;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/dev", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("nvidia", 0) != 0 || entry.is_directory(error)) continue;
    devices.push_back(name);
    denied = denied || access(entry.path().c_str(), R_OK | W_OK) != 0;
  }
  if (devices.empty()) {
    check.state = CheckState::kWarn;
    check.found = "no /dev/nvidia*";
    check.next = "in a container: start it with the GPUs (--gpus all)";
    return check;
  }
  for (const std::string& device : devices) absl::StrAppend(&check.found, check.found.empty() ? "" : " ", device);
  if (denied) {
    check.state = CheckState::kWarn;
    check.found += ", not all readable and writable for you";
    check.next = "join the group that owns them";
  }
  return check;
}

Check CheckCudart() {
  const Loaded loaded = LoadInChild<int>({"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"},
                                         "cudaRuntimeGetVersion");
  return OfLibrary("CUDA runtime", loaded,
                   absl::StrCat("version ", loaded.version / 1000, ".", loaded.version % 1000 / 10));
}

Check CheckCupti() {
  const Loaded loaded =
      LoadInChild<uint32_t>({"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"}, "cuptiGetVersion");
  return OfLibrary("CUPTI", loaded, absl::StrCat("API version ", loaded.version));
}

Check CheckSimulatedGpu(const std::string& program_folder) {
  Check check{"simulated GPU"};
  absl::StatusOr<std::string> folder = FindSimulatedGpu(program_folder);
  if (folder.ok()) {
    check.found = *folder;
  } else {
    check.state = CheckState::kWarn;
    check.found = std::string(folder.status().message());
    check.next = "only --gpu simulated needs it";
  }
  return check;
}

}  // namespace stallscope::cli
