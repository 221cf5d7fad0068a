// Device memory and pinned host memory of the simulation.
//
// Device memory is host address space reserved without backing (MAP_NORESERVE): what is never touched costs nothing, so
// 140 GB can be reported on a small machine. Two fixed ranges (device, managed) make "what kind of pointer is this" a
// compare. Any thread; one mutex, taken by allocation and by look-ups of host pointers, never by launches.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_MEMORY_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace simgpu {

enum class MemoryKind : uint8_t { kPageable, kPinned, kDevice, kManaged };

// A range of address space handed out in pieces, first fit. Not thread safe: Memory holds the lock.
class AddressRange {
 public:
  // Reserves up to `bytes`; halves the wish until the kernel grants it.
  explicit AddressRange(uint64_t bytes);
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;
  ~AddressRange();

  bool Contains(const void* pointer) const {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    return address >= base_ && address < base_ + bytes_;
  }
  void* Allocate(uint64_t bytes, uint64_t alignment, int device = 0);  // null when it does not fit
  uint64_t Free(void* pointer);                                        // bytes given back; 0 when it was no allocation
  // Start and size of the allocation around `pointer`; false when there is none.
  bool Find(const void* pointer, uintptr_t* begin, uint64_t* bytes, int* device = nullptr) const;

 private:
  struct Piece {
    uint64_t bytes;
    int device;
  };
  uintptr_t base_ = 0;
  uint64_t bytes_ = 0;
  std::map<uintptr_t, uint64_t> free_;
  std::map<uintptr_t, Piece> used_;
};

class Memory {
 public:
  explicit Memory(uint64_t capacity_bytes_of_a_device, int devices = 1);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  void* AllocateDevice(uint64_t bytes, int device = 0);  // null: out of device memory
  bool FreeDevice(void* pointer);                        // also managed; false: unknown pointer
  void* AllocateManaged(uint64_t bytes);

  void* AllocatePinned(uint64_t bytes);
  bool FreePinned(void* pointer);
  bool RegisterPinned(void* pointer, uint64_t bytes);  // false: overlaps a pinned range
  bool UnregisterPinned(void* pointer);

  // Address space and backing apart, for the driver's virtual memory calls.
  void* ReserveAddress(uint64_t bytes, uint64_t alignment);
  bool ReleaseAddress(void* pointer);
  bool TakeBytes(uint64_t bytes, int device = 0);  // accounts for physical memory; false: out of memory
  void GiveBytes(uint64_t bytes, int device = 0);

  MemoryKind KindOf(const void* pointer) const;
  bool FindAllocation(const void* pointer, uintptr_t* begin, uint64_t* bytes) const;
  int DeviceOf(const void* pointer) const;  // whose memory it is; 0 for other memory
  uint64_t FreeBytes(int device = 0) const;
  uint64_t CapacityBytes() const { return capacity_bytes_; }

 private:
  struct PinnedRange {
    uint64_t bytes;
    bool registered;  // by cudaHostRegister: the memory belongs to the program
  };

  const uint64_t capacity_bytes_;
  mutable std::mutex mutex_;  // guards the ranges and used_bytes_
  AddressRange device_;
  AddressRange managed_;
  std::vector<uint64_t> used_bytes_;  // by device
  mutable std::shared_mutex pinned_mutex_;
  std::map<uintptr_t, PinnedRange> pinned_;
};

// Fills memory with a byte. Large zero fills give the pages back instead, so that clearing a large buffer stays free.
void FillBytes(void* destination, uint8_t value, uint64_t bytes, bool device_memory);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_MEMORY_H_
