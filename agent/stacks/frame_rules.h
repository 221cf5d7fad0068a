// How to find the caller of a frame, for each place in the code that a stack went through: the agent's cache of call frame
// information.
//
// Written by: the streaming thread, which asks libunwind (unwind_library.h) once for each place. Read by: any thread of the
// program while it walks its own stack (stack_walk.h), without lock, system call or allocation, in signal handlers too.
// Lifetime: the table is private memory of the process, made when stacks are first asked for, and never given back. A reader
// that meets a half-written cell or a table that is being cleared finds no rule or a wrong one; a wrong one cannot do harm,
// since the walk checks every address, and the walk's result is thrown away when the map of modules changed meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

namespace stallscope::agent {

enum class FrameKind : uint8_t {
  kUnknown = 0,    // nobody has asked yet
  kFromSp = 1,     // the caller's stack pointer is sp + cfa_offset
  kFromBp = 2,     // bp + cfa_offset
  kBehindBp = 3,   // the word at bp + cfa_offset (functions that align their stack)
  kOutermost = 4,  // there is no caller
  kOpaque = 5,     // no call frame information, or some that needs other registers: the stack is cut here
};

// One rule in one word. Offsets are bytes; bp_offset counts from the caller's stack pointer, with kBehindBp from bp.
struct FrameRule {
  FrameKind kind = FrameKind::kUnknown;
  bool bp_saved = false;
  int16_t bp_offset = 0;
  int32_t cfa_offset = 0;

  uint64_t Packed() const noexcept {
    return static_cast<uint64_t>(kind) | static_cast<uint64_t>(bp_saved) << 8 |
           static_cast<uint64_t>(static_cast<uint16_t>(bp_offset)) << 16 |
           static_cast<uint64_t>(static_cast<uint32_t>(cfa_offset)) << 32;
  }
  static FrameRule From(uint64_t packed) noexcept {
    FrameRule rule;
    rule.kind = static_cast<FrameKind>(packed & 0xff);
    rule.bp_saved = (packed >> 8 & 1) != 0;
    rule.bp_offset = static_cast<int16_t>(packed >> 16);
    rule.cfa_offset = static_cast<int32_t>(packed >> 32);
    return rule;
  }
};

class FrameRules {
 public:
  static constexpr uint32_t kCellBits = 15;
  static constexpr uint32_t kCells = 1u << kCellBits;
  static constexpr uint32_t kMostRules = kCells / 2;

  struct Cell {
    std::atomic<uint64_t> place;  // a return address; 0: empty
    std::atomic<uint64_t> rule;
  };

  // `cells`: kCells of zeroed memory. Before anybody else uses the table.
  void Use(Cell* cells) noexcept { cells_ = cells, count_ = 0; }
  const Cell* cells() const noexcept { return cells_; }

  FrameRule Find(uint64_t place) const noexcept {
    for (uint32_t at = First(place), probes = 0; probes < kMostProbes; at = (at + 1) & (kCells - 1), ++probes) {
      const uint64_t found = cells_[at].place.load(std::memory_order_acquire);  // pairs with Add's release
      if (__builtin_expect(found == place, 1)) return FrameRule::From(cells_[at].rule.load(std::memory_order_relaxed));
      if (found == 0) break;
    }
    return {};
  }

  // Streaming thread. A full table is cleared first: what is still in use comes back soon.
  void Add(uint64_t place, FrameRule rule) noexcept {
    if (count_ >= kMostRules) Clear();
    for (uint32_t at = First(place), probes = 0; probes < kMostProbes; at = (at + 1) & (kCells - 1), ++probes) {
      const uint64_t found = cells_[at].place.load(std::memory_order_relaxed);
      if (found != 0 && found != place) continue;
      cells_[at].rule.store(rule.Packed(), std::memory_order_relaxed);
      if (found == 0) ++count_;
      cells_[at].place.store(place, std::memory_order_release);
      return;
    }
  }

  void Clear() noexcept {
    for (uint32_t at = 0; at < kCells && count_ != 0; ++at) {
      cells_[at].place.store(0, std::memory_order_relaxed);
      cells_[at].rule.store(0, std::memory_order_relaxed);
    }
    count_ = 0;
  }

  uint32_t count() const noexcept { return count_; }

 private:
  static constexpr uint32_t kMostProbes = 64;
  static uint32_t First(uint64_t place) noexcept {
    return static_cast<uint32_t>((place * 0x9e3779b97f4a7c15u) >> (64 - kCellBits));
  }

  Cell* cells_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace stallscope::agent
