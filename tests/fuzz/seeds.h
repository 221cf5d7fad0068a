// Unharmed input of each kind, to be mutated.
#pragma once

#include <string>

namespace stallscope::fuzz {

std::string SeedStream();
std::string SeedCapture();
std::string SeedMemory();

}  // namespace stallscope::fuzz
