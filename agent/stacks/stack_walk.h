// Walks a stack by the rules of frame_rules.h: the calling thread's own, or a copy of another one's.
//
// Any thread, any context. Reads no word outside [low, high): whatever the rules say and the stack holds, the walk can come to
// a wrong end but not fault. Takes about 600 bytes of stack with its caller's buffer.
#pragma once

#include <cstdint>

#include "agent/stacks/frame_rules.h"

namespace stallscope::agent {

inline constexpr uint32_t kMostFrames = 64;  // what lies further out is cut off

// Where a frame stands: its return address is `ip`, and sp and bp are what they are after that return.
struct FramePlace {
  uint64_t ip, sp, bp;
};

// The frame that called the function whose frame address (__builtin_frame_address(0)) this is. Reads two words there.
inline FramePlace CallerOf(uint64_t frame_address, int64_t copy_offset = 0) noexcept {
  const auto* words = reinterpret_cast<const uint64_t*>(frame_address + static_cast<uint64_t>(copy_offset));
  return {words[1], frame_address + 16, words[0]};
}

// Addresses that belong to the stack: those of the words that may be read. `copy_offset` is added to an address to find the
// word; 0 when the stack itself is read.
struct StackExtent {
  uint64_t low = 0, high = 0;
  int64_t copy_offset = 0;
};

// Code whose frames are left out of the stacks: the agent's own.
struct CodeExtent {
  uint64_t begin = 0, end = 0;
};

struct Walk {
  enum class End : uint8_t {
    kOutermost,  // complete
    kCut,        // kMostFrames, or a frame that nobody can look behind
    kNoRule,     // `place.ip` must be learned first
    kBroken,     // the stack does not hold what the rules say: nothing of it is to be believed
  };
  End end = End::kBroken;
  uint32_t count = 0;
  uint64_t hash = 0;
  FramePlace place = {};  // where it stopped
};

// `frames`: room for kMostFrames, innermost first.
inline Walk WalkStack(const FrameRules& rules, FramePlace place, const StackExtent& extent, const CodeExtent& own,
                      uint64_t* frames) noexcept {
  Walk walk;
  uint64_t hash = 0xcbf29ce484222325u;
  uint32_t count = 0, steps = 0;
  const auto inside = [&extent](uint64_t address) noexcept {
    return address >= extent.low && address <= extent.high - 8 && (address & 7) == 0;
  };
  const auto word = [&extent](uint64_t address) noexcept {
    return *reinterpret_cast<const uint64_t*>(address + static_cast<uint64_t>(extent.copy_offset));
  };
  const auto stop = [&](Walk::End end) noexcept {
    walk.end = end;
    walk.count = count;
    walk.hash = hash;
    walk.place = place;
    return walk;
  };
  for (;; ++steps) {
    if (place.ip == 0) return stop(Walk::End::kOutermost);
    if (__builtin_expect(place.ip - own.begin >= own.end - own.begin, 1)) {
      if (count == kMostFrames) return stop(Walk::End::kCut);
      frames[count++] = place.ip;
      hash = (hash ^ place.ip) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    } else if (steps > 2 * kMostFrames) {
      return stop(Walk::End::kBroken);
    }
    const FrameRule rule = rules.Find(place.ip);
    uint64_t caller_sp = 0;
    switch (rule.kind) {
      case FrameKind::kFromSp:
        caller_sp = place.sp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
        break;
      case FrameKind::kFromBp:
        caller_sp = place.bp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
        break;
      case FrameKind::kBehindBp: {
        const uint64_t holder = place.bp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
        if (!inside(holder)) return stop(Walk::End::kBroken);
        caller_sp = word(holder);
        break;
      }
      case FrameKind::kOutermost:
        return stop(Walk::End::kOutermost);
      case FrameKind::kOpaque:
        return stop(Walk::End::kCut);
      case FrameKind::kUnknown:
      default:
        return stop(Walk::End::kNoRule);
    }
    // A copy may end before the stack does.
    if (caller_sp > extent.high && caller_sp - extent.high < (uint64_t{1} << 32) && caller_sp > place.sp) {
      return stop(Walk::End::kCut);
    }
    if (caller_sp <= place.sp || !inside(caller_sp - 8)) return stop(Walk::End::kBroken);
    uint64_t caller_bp = place.bp;
    if (rule.bp_saved) {
      const uint64_t from = rule.kind == FrameKind::kBehindBp ? place.bp : caller_sp;
      const uint64_t holder = from + static_cast<uint64_t>(int64_t{rule.bp_offset});
      if (!inside(holder)) return stop(Walk::End::kBroken);
      caller_bp = word(holder);
    }
    place = {word(caller_sp - 8), caller_sp, caller_bp};
  }
}

}  // namespace stallscope::agent
