// Memory pools of stream-ordered allocation. A pool keeps what is given back for the next taker and lets go of what lies
// above its release threshold when the program synchronises, as the real one does.
//
// Any thread; one mutex.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_POOLS_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_POOLS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/simgpu/core/memory.h"

namespace simgpu {

// A program's cudaMemPool_t.
struct Pool {
  int device = 0;
  uint64_t max_bytes = 0;  // 0: the device's
  uint64_t release_threshold_bytes = 0;
  uint64_t used_bytes = 0, used_high_bytes = 0;
  uint64_t reserved_bytes = 0, reserved_high_bytes = 0;
  int reuse[3] = {1, 1, 1};                // the three reuse attributes: kept for who asks
  std::map<int, unsigned> access;          // of other devices
  std::multimap<uint64_t, void*> resting;  // given back, by size
};

class Pools {
 public:
  Pools(Memory& memory, int devices);
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;

  Pool* Create(int device, uint64_t max_bytes);
  // What still is in use stays usable. False: unknown, or a default pool.
  bool Destroy(Pool* pool);
  bool Exists(const Pool* pool);
  Pool* DefaultOf(int device) const { return defaults_[static_cast<size_t>(device)]; }
  Pool* CurrentOf(int device);
  void SetCurrent(int device, Pool* pool);

  // Null: out of memory. `*grew` tells whether the pool had to take new memory, which costs host time.
  void* Allocate(Pool* pool, uint64_t bytes, bool* grew);
  bool Free(void* pointer);                    // false: not from a pool
  Pool* PoolOf(const void* pointer);           // null: none
  void Trim(Pool* pool, uint64_t keep_bytes);  // lets go of resting memory
  void AfterSynchronize();                     // down to the thresholds
  std::mutex& mutex() { return mutex_; }       // for who reads or writes a pool's fields

 private:
  struct Piece {
    Pool* pool;
    uint64_t bytes;
  };
  void TrimLocked(Pool* pool, uint64_t keep_bytes);

  Memory& memory_;
  std::mutex mutex_;                       // guards the pools and what follows
  std::vector<Pool*> defaults_, current_;  // by device
  std::unordered_map<const Pool*, std::unique_ptr<Pool>> pools_;
  std::unordered_map<const void*, Piece> pieces_;
  std::atomic<uint64_t> resting_bytes_{0};
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_POOLS_H_
