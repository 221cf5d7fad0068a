// Code that a program loads at run time (cuModuleLoad*, cuLibraryLoad*): which kernels and variables an image holds.
//
// Read are cubins (ELF, by their sections) and PTX text. A fat binary may be compressed: any name is taken to be in it.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_MODULE_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_MODULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simgpu/core/work.h"

namespace simgpu {

enum class ImageKind : uint8_t { kInvalid, kCubin, kPtx, kFatBinary };

struct Image {
  ImageKind kind = ImageKind::kInvalid;
  std::vector<std::string> kernels;           // mangled names
  std::map<std::string, uint64_t> variables;  // bytes by name
};

// Reads an image by what it begins with. PTX ends with a zero byte.
Image ReadImage(const void* data);

// A program's CUmodule, CUlibrary and cudaLibrary_t.
class Module {
 public:
  Module(Image image, int device) : image_(std::move(image)), device_(device) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  const std::vector<std::string>& kernel_names() const { return image_.kernels; }
  const Kernel* FindKernel(const std::string& name);  // null: not in the image
  // Device memory of a variable, made at the first question; false: not in the image.
  bool FindVariable(const std::string& name, void** address, uint64_t* bytes);

 private:
  const Image image_;
  const int device_;
  std::mutex mutex_;  // guards addresses_
  std::map<std::string, void*> addresses_;
};

// Loads an image from memory or from a file, taking the configured host time; null when it is none.
std::unique_ptr<Module> LoadModule(const void* data);
std::unique_ptr<Module> LoadModuleFile(const char* path);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_MODULE_H_
