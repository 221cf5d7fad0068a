#include "collector/symbols/stack_names.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace stallscope {
namespace {

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "py::step:/srv/engine.py", as CPython's perf map has it.
FrameName PythonFrame(std::string_view name, uint64_t address) {
  FrameName frame;
  frame.offset = address;
  frame.python = name.substr(0, 4) == "py::";
  if (frame.python) name.remove_prefix(4);
  const size_t colon = frame.python ? name.find(":/") : std::string_view::npos;
  frame.function = std::string(name.substr(0, colon));
  if (colon != std::string_view::npos) frame.file = std::string(name.substr(colon + 1));
  return frame;
}

bool IsPlumbing(const FrameName& frame) {
  for (const char* name : {"std::mutex::lock(", "std::unique_lock<", "std::lock_guard<", "std::scoped_lock<",
                           "std::condition_variable::", "std::condition_variable_any::", "__gthread_mutex_lock",
                           "__gthread_", "std::__condvar::", "std::recursive_mutex::lock("}) {
    if (absl::StartsWith(frame.function, name)) return true;
  }
  // "void std::unique_lock<std::mutex>::lock()" and templates with a return type in front.
  return absl::StrContains(frame.function, " std::condition_variable::wait") ||
         absl::StrContains(frame.function, " std::condition_variable::__wait") ||
         absl::StrContains(frame.function, " std::unique_lock<");
}

bool IsThreadStart(const FrameName& frame) {
  for (const char* name : {"_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl",
                           "start_thread", "clone3", "__clone3", "clone", "__clone"}) {
    if (frame.function == name) return true;
  }
  if (frame.function.empty()) {
    return absl::StartsWith(frame.module, "libc.so.") || absl::StartsWith(frame.module, "libstdc++.so.");
  }
  return absl::StartsWith(frame.function, "std::thread::_State_impl<") ||
         absl::StrContains(frame.function, " std::__invoke") || absl::StartsWith(frame.function, "std::__invoke") ||
         absl::StrContains(frame.function, "std::thread::_Invoker<") ||
         frame.function == "execute_native_thread_routine";
}

}  // namespace

std::string FrameName::Text() const {
  if (!function.empty()) return python && !file.empty() ? absl::StrCat(function, " [", FileName(file), "]") : function;
  if (!module.empty()) return absl::StrFormat("%s+0x%x", module, offset);
  return absl::StrFormat("0x%x", offset);
}

FrameName StackNames::OfAddress(const ProcessNames& names, uint64_t return_address, uint32_t generation,
                                const std::string& root) {
  const uint64_t address = return_address - 1;  // in the call, which may be its function's last instruction
  const ModuleInfo* module = names.Module(address, generation);
  if (module == nullptr) {
    const std::string_view code = names.CodeName(address);
    FrameName frame;
    frame.offset = return_address;
    return code.empty() ? frame : PythonFrame(code, return_address);
  }
  const std::string key = absl::StrCat(root, "\n", module->path, "\n", module->build_id);
  auto file = files_.find(key);
  if (file == files_.end()) {
    if (files_.size() >= kMostFiles) {
      names_.clear();
      files_.clear();
    }
    file = files_.emplace(key, ModuleSymbols::Open(*module, root)).first;
  }
  const uint64_t own_address = address - module->bias;
  const auto known = names_.find({file->second.get(), own_address});
  if (known != names_.end()) return known->second;
  FrameName frame;
  frame.module = FileName(module->path);
  frame.offset = own_address + 1;
  SourcePlace place = file->second->At(own_address);
  frame.function = std::move(place.function);
  frame.file = std::move(place.file);
  frame.line = place.line;
  if (names_.size() >= kMostNames) names_.clear();
  names_[{file->second.get(), own_address}] = frame;
  return frame;
}

std::vector<FrameName> StackNames::Of(const ProcessNames& names, const StackInfo& stack, const std::string& root) {
  std::vector<FrameName> frames;
  frames.reserve(stack.frames.size());
  for (const uint64_t address : stack.frames) frames.push_back(OfAddress(names, address, stack.generation, root));
  return frames;
}

std::string StackText(const std::vector<FrameName>& frames, bool cut, size_t most) {
  size_t first = 0, end = frames.size();
  while (first + 1 < end && IsPlumbing(frames[first])) ++first;
  while (end > first + 1 && IsThreadStart(frames[end - 1])) --end;
  std::string text;
  for (size_t i = first; i < end && i - first < most; ++i) {
    absl::StrAppend(&text, i == first ? "" : " <- ", frames[i].Text());
  }
  if (end - first > most || cut) absl::StrAppend(&text, " <- ...");
  return text;
}

}  // namespace stallscope
