// Small numbers for addresses, handles and descriptors (Intern.objects). Streaming thread only.
//
// Bounded: when the table is full it is emptied and the numbers go on, so a value may get a second number; a number
// never gets a second value. Past kLastId everything is 0, "none".
#pragma once

#include <cstdint>

namespace stallscope::agent {

class ObjectIds {
 public:
  bool Create() noexcept;
  void Destroy() noexcept;

  // The number of a value; 0 for 0. `is_new`: it must be introduced on this connection before it is used.
  uint32_t IdOf(uint64_t value, bool* is_new) noexcept;

  // A new connection: everything must be introduced again.
  void ForgetIntroductions() noexcept;

 private:
  static constexpr uint32_t kCells = 1u << 17;
  static constexpr uint32_t kMostEntries = kCells / 2;
  static constexpr uint32_t kLastId = 1u << 22;

  struct Cell {
    uint64_t value;
    uint32_t id;          // 0: free
    uint32_t connection;  // the one it was last introduced on
  };
  Cell* cells_ = nullptr;
  uint32_t entries_ = 0;
  uint32_t next_id_ = 1;
  uint32_t connection_ = 1;
};

}  // namespace stallscope::agent
