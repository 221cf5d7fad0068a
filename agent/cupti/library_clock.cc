#include "agent/cupti/library_clock.h"

#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

// Two clocks of one machine drift by less than this; more is a jump.
constexpr double kMostDrift = 500e-6;
constexpr uint64_t kSurelyJumpedNs = 1'000'000;
// A rate from readings closer than this would be noise.
constexpr uint64_t kShortestFitNs = 1'000'000'000;

uint64_t Distance(uint64_t a, uint64_t b) noexcept { return a > b ? a - b : b - a; }

}  // namespace

void LibraryClock::Measure(CuptiInterface* cupti) noexcept {
  bool busy = false;
  if (!busy_.compare_exchange_strong(busy, true, std::memory_order_acquire)) return;
  uint64_t ours_ns = 0, theirs_ns = 0;
  uint64_t tightest_ns = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    uint64_t library_ns = 0;
    const uint64_t before_ns = MonotonicNs();
    if (cupti->Timestamp(&library_ns) != CUPTI_SUCCESS) continue;
    const uint64_t bracket_ns = MonotonicNs() - before_ns;
    if (bracket_ns >= tightest_ns) continue;
    tightest_ns = bracket_ns;
    ours_ns = before_ns + bracket_ns / 2;
    theirs_ns = library_ns;
  }
  if (tightest_ns != UINT64_MAX) Take(ours_ns, theirs_ns, tightest_ns / 2);
  busy_.store(false, std::memory_order_release);
}

void LibraryClock::Take(uint64_t ours_ns, uint64_t theirs_ns, uint64_t error_ns) noexcept {
  const uint32_t pieces = pieces_.load(std::memory_order_relaxed);
  if (pieces != 0) {
    Piece& piece = piece_[(pieces - 1) % 2];
    const uint64_t passed_ns = ours_ns - piece.ours_ns.load(std::memory_order_relaxed);
    const uint64_t off_ns = Distance(Convert(piece, theirs_ns), ours_ns);
    const bool fitted = piece.ours_ns.load(std::memory_order_relaxed) - piece.begin_ours_ns >= kShortestFitNs;
    const double allowed_ns = static_cast<double>(kSurelyJumpedNs) + kMostDrift * static_cast<double>(passed_ns);
    // The unit of a strange clock is not known before the first fit, so no jump is seen until then.
    const bool jumped = static_cast<double>(off_ns) > allowed_ns && (fitted || passed_ns < kShortestFitNs);
    const bool backwards = theirs_ns < piece.theirs_ns.load(std::memory_order_relaxed);
    if (!jumped && !backwards) {
      const uint64_t length_ns = ours_ns - piece.begin_ours_ns;
      if (length_ns >= kShortestFitNs && theirs_ns > piece.begin_theirs_ns) {
        piece.rate.store(static_cast<double>(length_ns) / static_cast<double>(theirs_ns - piece.begin_theirs_ns),
                         std::memory_order_relaxed);
      }
      piece.theirs_ns.store(theirs_ns, std::memory_order_relaxed);
      piece.ours_ns.store(ours_ns, std::memory_order_relaxed);
      uncertainty_ns_.store(error_ns + (fitted ? off_ns : 0), std::memory_order_relaxed);
      return;
    }
  }
  Piece& piece = piece_[pieces % 2];
  piece.begin_ours_ns = ours_ns;
  piece.begin_theirs_ns = theirs_ns;
  piece.ours_ns.store(ours_ns, std::memory_order_relaxed);
  piece.theirs_ns.store(theirs_ns, std::memory_order_relaxed);
  piece.first_theirs_ns.store(theirs_ns, std::memory_order_relaxed);
  piece.rate.store(1.0, std::memory_order_relaxed);
  uncertainty_ns_.store(error_ns, std::memory_order_relaxed);
  pieces_.store(pieces + 1, std::memory_order_release);
}

uint64_t LibraryClock::Convert(const Piece& piece, uint64_t theirs_ns) noexcept {
  const auto since =
      static_cast<double>(static_cast<int64_t>(theirs_ns - piece.theirs_ns.load(std::memory_order_relaxed)));
  const double ours = since * piece.rate.load(std::memory_order_relaxed);
  return piece.ours_ns.load(std::memory_order_relaxed) + static_cast<uint64_t>(static_cast<int64_t>(ours));
}

uint64_t LibraryClock::ToMonotonic(uint64_t library_ns) const noexcept {
  const uint32_t pieces = pieces_.load(std::memory_order_acquire);
  if (pieces == 0) return library_ns;
  const Piece& newest = piece_[(pieces - 1) % 2];
  if (pieces == 1) return Convert(newest, library_ns);
  // A record may be from before the jump: the piece whose last reading it lies nearer to.
  const Piece& older = piece_[pieces % 2];
  const uint64_t to_newest = Distance(library_ns, newest.first_theirs_ns.load(std::memory_order_relaxed));
  const uint64_t to_older = Distance(library_ns, older.theirs_ns.load(std::memory_order_relaxed));
  const bool after = library_ns >= newest.first_theirs_ns.load(std::memory_order_relaxed);
  return Convert(after || to_newest <= to_older ? newest : older, library_ns);
}

}  // namespace stallscope::agent
