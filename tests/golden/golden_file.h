// A committed text file that a test compares with, and how it is renewed: STALLSCOPE_UPDATE_GOLDEN=1 ctest -R golden
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace stallscope::golden {

inline std::string Path(const std::string& name) {
  const char* source = std::getenv("STALLSCOPE_SOURCE");
  return std::string(source != nullptr ? source : ".") + "/tests/golden/" + name;
}

inline std::string Read(const std::string& name) {
  std::ifstream in(Path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline bool Updating() { return std::getenv("STALLSCOPE_UPDATE_GOLDEN") != nullptr; }

inline bool Write(const std::string& name, const std::string& text) {
  std::ofstream out(Path(name), std::ios::binary | std::ios::trunc);
  out << text;
  return out.good();
}

inline constexpr const char* kHowToAccept =
    "additions are accepted with: STALLSCOPE_UPDATE_GOLDEN=1 ctest -R golden_test, then commit tests/golden";

}  // namespace stallscope::golden
