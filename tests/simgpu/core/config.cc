#include "tests/simgpu/core/config.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace simgpu {
namespace {

struct UnsignedKey {
  const char* name;
  uint64_t Config::*field;
};
struct RealKey {
  const char* name;
  double Config::*field;
};

constexpr UnsignedKey kUnsignedKeys[] = {
    {"devices", &Config::devices},
    {"memory_mib", &Config::memory_mib},
    {"sm_count", &Config::sm_count},
    {"queue_depth", &Config::queue_depth},
    {"launch_latency_ns", &Config::launch_latency_ns},
    {"stream_gap_ns", &Config::stream_gap_ns},
    {"graph_launch_latency_ns", &Config::graph_launch_latency_ns},
    {"graph_node_gap_ns", &Config::graph_node_gap_ns},
    {"kernel_ns", &Config::kernel_ns},
    {"copy_base_ns", &Config::copy_base_ns},
    {"memset_base_ns", &Config::memset_base_ns},
    {"wake_spin_ns", &Config::wake_spin_ns},
    {"wake_yield_ns", &Config::wake_yield_ns},
    {"wake_block_ns", &Config::wake_block_ns},
    {"launch_call_ns", &Config::launch_call_ns},
    {"graph_launch_call_ns", &Config::graph_launch_call_ns},
    {"malloc_ns", &Config::malloc_ns},
    {"free_ns", &Config::free_ns},
    {"host_alloc_ns", &Config::host_alloc_ns},
    {"host_alloc_ns_per_mib", &Config::host_alloc_ns_per_mib},
    {"host_register_ns", &Config::host_register_ns},
    {"host_register_ns_per_mib", &Config::host_register_ns_per_mib},
    {"graph_instantiate_ns", &Config::graph_instantiate_ns},
    {"graph_instantiate_ns_per_node", &Config::graph_instantiate_ns_per_node},
    {"graph_update_ns_per_node", &Config::graph_update_ns_per_node},
    {"module_load_ns", &Config::module_load_ns},
    {"jit_ns", &Config::jit_ns},
    {"lazy_load_ns", &Config::lazy_load_ns},
    {"mig", &Config::mig},
    {"mps", &Config::mps},
    {"managed_faults", &Config::managed_faults},
    {"host_function_ns", &Config::host_function_ns},
    {"cupti_record_ns", &Config::cupti_record_ns},
    {"cupti_callback_ns", &Config::cupti_callback_ns},
};
constexpr RealKey kRealKeys[] = {
    {"pinned_gb_per_s", &Config::pinned_gb_per_s},
    {"pageable_gb_per_s", &Config::pageable_gb_per_s},
    {"device_gb_per_s", &Config::device_gb_per_s},
    {"peer_gb_per_s", &Config::peer_gb_per_s},
};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool ParseUnsigned(std::string_view text, uint64_t* value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return code == std::errc() && end == text.data() + text.size();
}

bool ParseReal(std::string_view text, double* value) {
  const std::string copy(text);
  char* end = nullptr;
  const double parsed = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !(parsed >= 0)) return false;
  *value = parsed;
  return true;
}

bool ApplyKernelRule(std::string_view text, Config* config, std::string* error) {
  std::istringstream words{std::string(text)};
  KernelRule rule;
  if (!(words >> rule.name_part >> rule.base_ns)) {
    *error = "kernel rule needs a name part and a duration in ns";
    return false;
  }
  if (!(words >> rule.per_block_ns)) rule.per_block_ns = 0;
  config->kernel_rules.push_back(rule);
  return true;
}

bool ApplyKey(std::string_view key, std::string_view value, Config* config, std::string* error) {
  for (const UnsignedKey& known : kUnsignedKeys) {
    if (key != known.name) continue;
    uint64_t number = 0;
    if (!ParseUnsigned(value, &number) || (number == 0 && (key == "devices" || key == "queue_depth"))) {
      *error = "bad number for " + std::string(key) + ": " + std::string(value);
      return false;
    }
    config->*known.field = number;
    return true;
  }
  for (const RealKey& known : kRealKeys) {
    if (key != known.name) continue;
    double number = 0;
    if (!ParseReal(value, &number) || number == 0) {
      *error = "bad number for " + std::string(key) + ": " + std::string(value);
      return false;
    }
    config->*known.field = number;
    return true;
  }
  if (key == "truth") {
    config->truth_path = std::string(value);
    return true;
  }
  if (key == "cupti_layout") {
    config->cupti_layout = std::string(value);
    return true;
  }
  *error = "unknown key " + std::string(key);
  return false;
}

void Complain(const std::string& where, const std::string& what) {
  std::fprintf(stderr, "simgpu: %s: %s (ignored)\n", where.c_str(), what.c_str());
}

std::string VariableName(std::string_view key) {
  std::string name = "SIMGPU_";
  for (char c : key) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

void ApplyVariable(std::string_view key, Config* config) {
  const std::string name = VariableName(key);
  const char* value = std::getenv(name.c_str());
  std::string error;
  if (value != nullptr && !ApplyKey(key, value, config, &error)) Complain(name, error);
}

}  // namespace

bool ApplyConfigLine(std::string_view line, Config* config, std::string* error) {
  line = Trim(line.substr(0, line.find('#')));
  if (line.empty()) return true;
  if (line.substr(0, 7) == "kernel ") return ApplyKernelRule(line.substr(7), config, error);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    *error = "not a `key = value` line: " + std::string(line);
    return false;
  }
  return ApplyKey(Trim(line.substr(0, equals)), Trim(line.substr(equals + 1)), config, error);
}

Config ReadConfig() {
  Config config;
  if (const char* path = std::getenv("SIMGPU_CONFIG"); path != nullptr && *path != '\0') {
    std::ifstream file(path);
    if (!file) Complain(path, "cannot be read");
    std::string line, error;
    for (int number = 1; std::getline(file, line); ++number) {
      if (!ApplyConfigLine(line, &config, &error)) Complain(std::string(path) + ":" + std::to_string(number), error);
    }
  }
  for (const UnsignedKey& key : kUnsignedKeys) ApplyVariable(key.name, &config);
  for (const RealKey& key : kRealKeys) ApplyVariable(key.name, &config);
  ApplyVariable("truth", &config);
  ApplyVariable("cupti_layout", &config);
  return config;
}

}  // namespace simgpu
