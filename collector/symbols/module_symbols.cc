#include "collector/symbols/module_symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace stallscope {
namespace {

constexpr size_t kLongestSymbol = 1 << 16;

// Files come from the caller alone, and debug files by build id: libdwfl's standard ways would ask a debuginfod server.
int NoElf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

char g_no_path[] = "";
char* g_debug_path = g_no_path;
const Dwfl_Callbacks kCallbacks = {NoElf, dwfl_build_id_find_debuginfo, dwfl_offline_section_address, &g_debug_path};

// The path is a traced process's word: a pipe or a device would keep us waiting.
int OpenRegularFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status;
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

std::string BuildIdPath(const std::string& build_id) {
  if (build_id.size() < 2) return "";
  const std::string hex = absl::BytesToHexString(build_id);
  return absl::StrCat("/usr/lib/debug/.build-id/", hex.substr(0, 2), "/", hex.substr(2), ".debug");
}

}  // namespace

std::string Demangled(const std::string& symbol) {
  if (symbol.size() > kLongestSymbol || symbol.rfind("_Z", 0) != 0) return symbol;
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return symbol;
  std::string name = text;
  free(text);
  return name;
}

class ModuleSymbols::File {
 public:
  // Closed again when it is no ELF file with that build id.
  static std::unique_ptr<File> Open(const std::string& path, const std::string& build_id, std::string* why) {
    auto file = std::make_unique<File>();
    file->dwfl_ = dwfl_begin(&kCallbacks);
    if (file->dwfl_ == nullptr) return nullptr;
    dwfl_report_begin(file->dwfl_);
    const int fd = OpenRegularFile(path);
    if (fd >= 0) file->module_ = dwfl_report_elf(file->dwfl_, "module", path.c_str(), fd, 0, true);
    if (fd >= 0 && file->module_ == nullptr) close(fd);  // else it is libdwfl's
    dwfl_report_end(file->dwfl_, nullptr, nullptr);
    if (file->module_ == nullptr) {
      if (why->empty()) *why = absl::StrCat(path, " cannot be read");
      return nullptr;
    }
    const unsigned char* id = nullptr;
    GElf_Addr id_address = 0;
    const int id_bytes = dwfl_module_build_id(file->module_, &id, &id_address);
    if (std::string(reinterpret_cast<const char*>(id), id_bytes > 0 ? static_cast<size_t>(id_bytes) : 0) != build_id) {
      *why = absl::StrCat(path, " has changed since it was mapped");
      return nullptr;
    }
    return file;
  }
  File() = default;
  ~File() {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  SourcePlace At(uint64_t address) const {
    SourcePlace place;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
    // Without a size it is a label, from which everything up to the next symbol would hang.
    if (name != nullptr && symbol.st_size != 0) place.function = Demangled(name);
    if (Dwfl_Line* line = dwfl_module_getsrc(module_, address)) {
      if (const char* file = dwfl_lineinfo(line, nullptr, &place.line, nullptr, nullptr, nullptr)) place.file = file;
    }
    return place;
  }

 private:
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
};

ModuleSymbols::ModuleSymbols() = default;
ModuleSymbols::~ModuleSymbols() = default;

std::unique_ptr<ModuleSymbols> ModuleSymbols::Open(const ModuleInfo& module, const std::string& root) {
  std::unique_ptr<ModuleSymbols> symbols(new ModuleSymbols);
  if (module.path.empty() || module.path[0] != '/') {
    symbols->why_ = module.path.empty() ? "it has no path" : "it is in no file";
    return symbols;
  }
  std::vector<std::string> candidates = {module.path, BuildIdPath(module.build_id)};
  if (!root.empty()) candidates.insert(candidates.begin(), root + module.path);
  std::string why;
  for (const std::string& path : candidates) {
    if (path.empty()) continue;
    symbols->file_ = File::Open(path, module.build_id, &why);
    if (symbols->file_ != nullptr) return symbols;
  }
  symbols->why_ = why;
  return symbols;
}

SourcePlace ModuleSymbols::At(uint64_t address) const { return file_ == nullptr ? SourcePlace() : file_->At(address); }

}  // namespace stallscope
