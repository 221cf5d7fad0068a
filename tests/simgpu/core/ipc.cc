#include "tests/simgpu/core/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

constexpr uint64_t kMagic = 0x73696d6770752d31;  // "simgpu-1"
constexpr uint64_t kPageBytes = 4096;

struct Shared {
  int file;
  uint64_t bytes;      // in whole pages
  uint64_t own_bytes;  // of the allocation
  bool opened;         // from another process, else ours
};
struct SharedTable {
  std::mutex mutex;                  // guards `by_begin`
  std::map<void*, Shared> by_begin;  // whole pages
};
SharedTable& Table() {
  static auto* table = new SharedTable;
  return *table;
}

uint64_t WholePages(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

int NewFile(uint64_t bytes) {
  const int file = memfd_create("simgpu-ipc", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  if (file >= 0) close(file);
  return -1;
}

int OpenFile(const IpcHandle& handle) {
  if (handle.magic != kMagic) return -1;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process_id, handle.file);
  return open(path, O_RDWR | O_CLOEXEC);
}

bool MapShared(void* at, uint64_t bytes, int file) {
  return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
}

void MapPrivate(void* at, uint64_t bytes) {
  mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace

bool ShareMemory(void* pointer, IpcHandle* handle) {
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  if (!Simulator::Get().memory().FindAllocation(pointer, &begin, &bytes) || begin % kPageBytes != 0) return false;
  void* place = reinterpret_cast<void*>(begin);
  const uint64_t pages = WholePages(bytes);
  std::lock_guard lock(Table().mutex);
  auto known = Table().by_begin.find(place);
  if (known == Table().by_begin.end()) {
    const int file = NewFile(pages);
    if (file < 0) return false;
    // Whole pages: the last one may hold another small allocation behind this one.
    if (pwrite(file, place, pages, 0) != static_cast<ssize_t>(pages) || !MapShared(place, pages, file)) {
      close(file);
      return false;
    }
    known = Table().by_begin.emplace(place, Shared{file, pages, bytes, false}).first;
  }
  *handle = {kMagic, getpid(), known->second.file, bytes, 0};
  return true;
}

void* OpenSharedMemory(const IpcHandle& handle) {
  const int file = OpenFile(handle);
  if (file < 0) return nullptr;
  const uint64_t pages = WholePages(handle.bytes);
  void* place = Simulator::Get().memory().ReserveAddress(pages, kPageBytes);
  if (place == nullptr || !MapShared(place, pages, file)) {
    close(file);
    return nullptr;
  }
  std::lock_guard lock(Table().mutex);
  Table().by_begin.emplace(place, Shared{file, pages, handle.bytes, true});
  return place;
}

bool CloseSharedMemory(void* pointer) {
  std::lock_guard lock(Table().mutex);
  const auto known = Table().by_begin.find(pointer);
  if (known == Table().by_begin.end() || !known->second.opened) return false;
  MapPrivate(pointer, known->second.bytes);
  close(known->second.file);
  Table().by_begin.erase(known);
  return Simulator::Get().memory().ReleaseAddress(pointer);
}

void EndSharing(void* pointer) {
  std::lock_guard lock(Table().mutex);
  const auto known = Table().by_begin.find(pointer);
  if (known == Table().by_begin.end() || known->second.opened) return;
  const Shared& shared = known->second;
  char* behind = static_cast<char*>(pointer) + shared.own_bytes;
  const std::string neighbours(behind, shared.bytes - shared.own_bytes);
  MapPrivate(pointer, shared.bytes);
  std::memcpy(behind, neighbours.data(), neighbours.size());
  close(known->second.file);
  Table().by_begin.erase(known);
}

std::atomic<uint64_t>* ShareMark(IpcHandle* handle) {
  const int file = NewFile(kPageBytes);
  if (file < 0) return nullptr;
  void* page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  *handle = {kMagic, getpid(), file, sizeof(uint64_t), 0};
  return static_cast<std::atomic<uint64_t>*>(page);
}

std::atomic<uint64_t>* OpenSharedMark(const IpcHandle& handle) {
  const int file = OpenFile(handle);
  if (file < 0) return nullptr;
  void* page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? nullptr : static_cast<std::atomic<uint64_t>*>(page);
}

}  // namespace simgpu
