#include "agent/stream/object_ids.h"

#include <string.h>

#include "agent/stream/arena.h"

namespace stallscope::agent {

bool ObjectIds::Create() noexcept {
  if (cells_ == nullptr) cells_ = MapArray<Cell>(kCells);
  return cells_ != nullptr;
}

void ObjectIds::Destroy() noexcept {
  UnmapArray(cells_, kCells);
  cells_ = nullptr;
  entries_ = 0;
}

uint32_t ObjectIds::IdOf(uint64_t value, bool* is_new) noexcept {
  *is_new = false;
  if (value == 0) return 0;
  uint32_t at = static_cast<uint32_t>((value * 0x9e3779b97f4a7c15u) >> 40) & (kCells - 1);
  for (; cells_[at].id != 0; at = (at + 1) & (kCells - 1)) {
    Cell* cell = &cells_[at];
    if (cell->value != value) continue;
    *is_new = cell->connection != connection_;
    cell->connection = connection_;
    return cell->id;
  }
  if (next_id_ > kLastId) return 0;
  if (entries_ >= kMostEntries) {
    memset(cells_, 0, kCells * sizeof(Cell));
    entries_ = 0;
    at = static_cast<uint32_t>((value * 0x9e3779b97f4a7c15u) >> 40) & (kCells - 1);
  }
  ++entries_;
  cells_[at] = {value, next_id_, connection_};
  *is_new = true;
  return next_id_++;
}

void ObjectIds::ForgetIntroductions() noexcept { ++connection_; }

}  // namespace stallscope::agent
