#include "agent/cupti/cost_governor.h"

namespace stallscope::agent {
namespace {

using wire::Level;

constexpr double kMemoryNs = 10e9;
constexpr uint64_t kPatienceNs = 3'000'000'000;  // over the limit for so long: less detail
constexpr uint64_t kLongestWaitNs = 600'000'000'000;
constexpr double kMostCreditNs = 1e9;
constexpr double kMillion = 1e6;

}  // namespace

void CostGovernor::Ask(Level level) noexcept {
  asked_ = level;
  rung_ = 0;
  over_since_ns_ = under_since_ns_ = 0;
}

Level CostGovernor::LevelAtRung() const noexcept {
  const int level = static_cast<int>(asked_) - static_cast<int>(rung_);
  if (asked_ == Level::kOff) return Level::kOff;
  return level < static_cast<int>(Level::kBudget) ? Level::kBudget : static_cast<Level>(level);
}

CostGovernor::Decision CostGovernor::Look(const Observed& observed) noexcept {
  if (begun_ && observed.now_ns > last_.now_ns) {
    MeasureCost(observed, observed.now_ns - last_.now_ns);
    MoveOnLadder(observed.now_ns);
    OpenOrCloseWindow(observed);
  }
  begun_ = true;
  last_ = observed;
  Decision decision;
  decision.level = LevelAtRung();
  decision.gpu_records = rung_ <= static_cast<uint32_t>(asked_) - static_cast<uint32_t>(Level::kBudget);
  decision.window = window_;
  decision.reason = rung_ == 0 ? Reason::kAsked : Reason::kCost;
  const double shown_share = cost_weight_ > 0 ? cost_share_ / cost_weight_ : 0;
  decision.cost_ppm = static_cast<uint32_t>(shown_share < 1 ? shown_share * kMillion : kMillion);
  return decision;
}

void CostGovernor::MeasureCost(const Observed& observed, uint64_t passed_ns) noexcept {
  const auto passed = static_cast<double>(passed_ns);
  const auto launches = static_cast<double>(observed.graph_launches - last_.graph_launches);
  const auto launch_ns = static_cast<double>(observed.graph_launch_ns - last_.graph_launch_ns);
  double cost_ns = static_cast<double>(observed.own_cpu_ns - last_.own_cpu_ns) +
                   static_cast<double>(observed.on_threads_ns - last_.on_threads_ns);
  if (launches > 0) {
    const double each_ns = launch_ns / launches;
    const bool nodes = window_ || LevelAtRung() == Level::kNodes;
    if (!nodes) {
      plain_launch_ns_ = plain_launch_ns_ == 0 ? each_ns : plain_launch_ns_ + (each_ns - plain_launch_ns_) / 8;
    } else if (plain_launch_ns_ > 0 && each_ns > plain_launch_ns_) {
      cost_ns += (each_ns - plain_launch_ns_) * launches;
    }
  }
  const double share = passed / (passed + kMemoryNs);
  cost_share_ += (cost_ns / passed - cost_share_) * share;
  cost_weight_ += (1 - cost_weight_) * share;
  credit_ns_ += passed * limit_ppm_ / kMillion - cost_ns;
  if (credit_ns_ > kMostCreditNs) credit_ns_ = kMostCreditNs;
  if (window_) window_cost_ns_ += cost_ns;
}

void CostGovernor::MoveOnLadder(uint64_t now_ns) noexcept {
  const double limit = limit_ppm_ / kMillion;
  if (asked_ == Level::kOff) return;
  if (cost_share_ > limit) {
    under_since_ns_ = 0;
    if (over_since_ns_ == 0) over_since_ns_ = now_ns;
    if (now_ns - over_since_ns_ < kPatienceNs) return;
    over_since_ns_ = 0;
    const uint32_t lowest = static_cast<uint32_t>(asked_) - static_cast<uint32_t>(Level::kBudget) + 1;
    if (rung_ < lowest) {
      if (rung_ > 0 && wait_before_rise_ns_ < kLongestWaitNs) wait_before_rise_ns_ *= 2;
      ++rung_;
      cost_share_ = limit / 2;  // what the lower level costs is measured anew
    }
    return;
  }
  over_since_ns_ = 0;
  if (rung_ == 0 || cost_share_ > limit / 2) {
    under_since_ns_ = 0;
    return;
  }
  if (under_since_ns_ == 0) under_since_ns_ = now_ns;
  if (now_ns - under_since_ns_ < wait_before_rise_ns_) return;
  under_since_ns_ = 0;
  --rung_;
  if (wait_before_rise_ns_ < kLongestWaitNs) wait_before_rise_ns_ *= 2;
}

void CostGovernor::OpenOrCloseWindow(const Observed& observed) noexcept {
  const uint64_t now_ns = observed.now_ns;
  if (window_) {
    const uint64_t length_ns = now_ns - window_begin_ns_;
    const bool enough = observed.graph_launches - window_begin_launches_ >= kReplaysWanted;
    const bool too_dear = window_cost_ns_ > 2 * window_cost_share_ * static_cast<double>(window_length_ns_) + 1e6;
    if (!(length_ns >= window_length_ns_ && enough) && length_ns < kLongestWindowNs && !too_dear) return;
    window_ = false;
    last_window_end_ns_ = now_ns;
    window_cost_share_ = window_cost_ns_ / static_cast<double>(length_ns);
    return;
  }
  const bool may = LevelAtRung() == Level::kBudget && asked_ != Level::kOff &&
                   (rung_ == 0 || asked_ != Level::kBudget) && observed.graph_launches != last_.graph_launches;
  if (!may) return;
  const bool asked = asked_window_ns_ != 0;
  const bool wanted =
      observed.unlearned_graphs || last_window_end_ns_ == 0 || now_ns - last_window_end_ns_ >= kRefreshNs;
  const bool affordable = credit_ns_ >= window_cost_share_ * static_cast<double>(kWindowNs);
  if (!asked && !(wanted && affordable)) return;
  window_ = true;
  window_length_ns_ = asked ? asked_window_ns_ : kWindowNs;
  asked_window_ns_ = 0;
  window_begin_ns_ = now_ns;
  window_begin_launches_ = observed.graph_launches;
  window_cost_ns_ = 0;
}

}  // namespace stallscope::agent
