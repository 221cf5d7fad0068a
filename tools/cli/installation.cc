#include "tools/cli/installation.h"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> FindPart(const char* variable, const std::string& program_folder,
                                     std::initializer_list<const char*> places, const char* what) {
  std::error_code error;
  if (const char* given = std::getenv(variable); given != nullptr && given[0] != '\0') {
    if (fs::exists(given, error)) return fs::absolute(given).lexically_normal().string();
    return absl::UnavailableError(
        absl::StrCat(what, " is not at ", given, " (", variable, "). Correct or unset the variable."));
  }
  for (const char* place : places) {
    const fs::path path = (fs::path(program_folder) / place).lexically_normal();
    if (fs::exists(path, error)) return path.string();
  }
  return absl::UnavailableError(absl::StrCat(what, " is not installed: looked for ", *places.begin(), " beside ",
                                             program_folder, ". Build or install all of stallscope, or set ", variable,
                                             "."));
}

}  // namespace

std::string ProgramFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

absl::StatusOr<std::string> FindAgent(const std::string& program_folder) {
  return FindPart("STALLSCOPE_AGENT", program_folder, {"../lib/libstallscope.so", "../lib/stallscope/libstallscope.so"},
                  "the agent libstallscope.so");
}

absl::StatusOr<std::string> FindSimulatedGpu(const std::string& program_folder) {
  return FindPart("STALLSCOPE_SIMGPU", program_folder, {"../lib/simgpu", "../lib/stallscope/simgpu"},
                  "the simulated GPU");
}

}  // namespace stallscope::cli
