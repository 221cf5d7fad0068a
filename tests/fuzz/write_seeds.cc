// Writes the unharmed inputs as corpora for libFuzzer: write_seeds FOLDER makes FOLDER/{stream,capture,memory}/seed.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_seeds FOLDER" << std::endl;
    return 2;
  }
  const std::pair<const char*, std::string> seeds[] = {{"stream", stallscope::fuzz::SeedStream()},
                                                       {"capture", stallscope::fuzz::SeedCapture()},
                                                       {"memory", stallscope::fuzz::SeedMemory()}};
  for (const auto& [name, bytes] : seeds) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "seed", std::ios::binary) << bytes;
  }
  return 0;
}
