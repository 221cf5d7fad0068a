// What a stack says to people: one name a frame.
//
// Single thread. Keeps the files it has opened and the names it has found, for all processes that share it; both are bounded
// (a hostile process may name any number of files: only kMostFiles are opened).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/symbols/module_symbols.h"

namespace stallscope {

struct FrameName {
  std::string function;  // "Worker::Drain()", a Python function, "" when there is none
  std::string module;    // file name without folder; "" when the address lies in no module
  uint64_t offset = 0;   // in the file, or the address itself where there is no module
  std::string file;      // source
  int line = 0;
  bool python = false;

  // "Worker::Drain()", "step [engine.py]", "libfoo.so.1+0x1234", "0x7f12..."
  std::string Text() const;
};

class StackNames {
 public:
  static constexpr size_t kMostFiles = 512, kMostNames = 1 << 18;

  // Of a stack of the process whose names these are. `root` as in ModuleSymbols::Open.
  std::vector<FrameName> Of(const ProcessNames& names, const StackInfo& stack, const std::string& root = "");

 private:
  FrameName OfAddress(const ProcessNames& names, uint64_t return_address, uint32_t generation, const std::string& root);

  absl::flat_hash_map<std::string, std::unique_ptr<ModuleSymbols>> files_;  // by root, path and build id
  absl::flat_hash_map<std::pair<const ModuleSymbols*, uint64_t>, FrameName> names_;
};

// Innermost first: "Worker::Drain() <- Worker::Run() <- main". At most `most` frames; a stack that goes on ends in "...".
// What every stack has around its telling part is left out: the C++ library's wrappers around std::mutex and its like
// innermost, thread start and main's caller outermost.
std::string StackText(const std::vector<FrameName>& frames, bool cut, size_t most);

}  // namespace stallscope
