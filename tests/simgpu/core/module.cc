#include "tests/simgpu/core/module.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

constexpr uint32_t kFatBinaryMagic = 0xba55ed50, kFatBinaryWrapperMagic = 0x466243b1;
constexpr char kTextPrefix[] = ".text.";

// Kernels are the sections .text.NAME, variables the objects of the symbol table.
Image ReadCubin(const char* data) {
  Image image;
  image.kind = ImageKind::kCubin;
  Elf64_Ehdr header;
  std::memcpy(&header, data, sizeof header);
  const auto section = [&](uint32_t index) {
    Elf64_Shdr found;
    std::memcpy(&found, data + header.e_shoff + uint64_t{index} * header.e_shentsize, sizeof found);
    return found;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr part = section(i);
    const char* name = data + names.sh_offset + part.sh_name;
    if (std::strncmp(name, kTextPrefix, sizeof kTextPrefix - 1) == 0) {
      image.kernels.emplace_back(name + sizeof kTextPrefix - 1);
    }
    if (part.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr strings = section(part.sh_link);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= part.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, data + part.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) continue;
      image.variables[data + strings.sh_offset + symbol.st_name] = symbol.st_size;
    }
  }
  return image;
}

Image ReadPtx(const std::string& text) {
  Image image;
  image.kind = ImageKind::kPtx;
  const std::regex entry("\\.entry\\s+([\\w$]+)");
  for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
    image.kernels.push_back((*match)[1]);
  }
  const std::regex variable("\\.(?:global|const)\\s[^;{(]*?\\.[bsuf](8|16|32|64)\\s+([\\w$]+)(?:\\[(\\d+)\\])?");
  for (std::sregex_iterator match(text.begin(), text.end(), variable), end; match != end; ++match) {
    const uint64_t elements = (*match)[3].matched ? std::stoull((*match)[3]) : 1;
    image.variables[(*match)[2]] = std::stoull((*match)[1]) / 8 * elements;
  }
  return image;
}

bool LooksLikePtx(const char* text) {
  return std::strstr(text, ".version") != nullptr && std::strstr(text, ".target") != nullptr;
}

}  // namespace

Image ReadImage(const void* data) {
  if (data == nullptr) return {};
  uint32_t magic = 0;
  std::memcpy(&magic, data, sizeof magic);
  if (std::memcmp(data, ELFMAG, SELFMAG) == 0) return ReadCubin(static_cast<const char*>(data));
  if (magic == kFatBinaryMagic || magic == kFatBinaryWrapperMagic) return {ImageKind::kFatBinary, {}, {}};
  const auto* text = static_cast<const char*>(data);
  const bool printable = *text == '/' || *text == '.' || *text == '\n' || *text == ' ' || *text == '\t';
  if (printable && LooksLikePtx(text)) return ReadPtx(text);
  return {};
}

Module::~Module() {
  for (auto& [name, address] : addresses_) Simulator::Get().memory().FreeDevice(address);
}

const Kernel* Module::FindKernel(const std::string& name) {
  const bool known = image_.kind == ImageKind::kFatBinary ||
                     std::find(image_.kernels.begin(), image_.kernels.end(), name) != image_.kernels.end();
  return known ? Simulator::Get().kernels().Named(name) : nullptr;
}

bool Module::FindVariable(const std::string& name, void** address, uint64_t* bytes) {
  const auto known = image_.variables.find(name);
  if (known == image_.variables.end()) return false;
  std::lock_guard lock(mutex_);
  void*& place = addresses_[name];
  if (place == nullptr) place = Simulator::Get().memory().AllocateDevice(known->second, device_);
  *address = place;
  *bytes = known->second;
  return place != nullptr;
}

std::unique_ptr<Module> LoadModule(const void* data) {
  Image image = ReadImage(data);
  if (image.kind == ImageKind::kInvalid) return nullptr;
  Simulator& simulator = Simulator::Get();
  const Config& config = simulator.config();
  simulator.SpendHostTime(config.module_load_ns + (image.kind == ImageKind::kPtx ? config.jit_ns : 0));
  return std::make_unique<Module>(std::move(image), CurrentOrdinal());
}

std::unique_ptr<Module> LoadModuleFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  std::string data{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return data.size() < sizeof(Elf64_Ehdr) ? nullptr : LoadModule(data.c_str());
}

}  // namespace simgpu
