// The symbols of one program or library file, found by build id.
//
// libdwfl (elfutils) reads symbol tables, separate debug files (/usr/lib/debug/.build-id) and line tables where there are any.
// Nothing is fetched over a network. Single thread. A file that is gone, or is another one than was mapped (its build id
// differs), has no symbols: `why` says so, and no name is made up from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collector/base/event.h"

namespace stallscope {

struct SourcePlace {
  std::string function;  // demangled; "" when there is none
  std::string file;      // "" without a line table
  int line = 0;
};

class ModuleSymbols {
 public:
  // `root`: put before the path first ("/proc/4711/root" sees a container's files), then the path is tried alone.
  static std::unique_ptr<ModuleSymbols> Open(const ModuleInfo& module, const std::string& root);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  // `address`: the file's own, inside an instruction.
  SourcePlace At(uint64_t address) const;
  const std::string& why() const { return why_; }  // "" when the file is the right one

 private:
  class File;
  ModuleSymbols();
  std::unique_ptr<File> file_;
  std::string why_;
};

// "Worker::Drain()" of "_ZN6Worker5DrainEv"; anything else as it is.
std::string Demangled(const std::string& symbol);

}  // namespace stallscope
