#include "tests/workloads/story/plan.h"

#include <algorithm>
#include <bitset>
#include <sstream>

#include "tests/workloads/story/spread.h"

namespace workloads {
namespace {

constexpr uint64_t kRequests = 62;
constexpr uint64_t kShortestCallNs = 1;

uint64_t Total(const PublishedRow& row, double scale) {
  return static_cast<uint64_t>(static_cast<double>(row.total_ns) * scale);
}

std::vector<uint64_t> Sorted(const PublishedRow& row, double scale, uint64_t count) {
  return SortedSpread(count, {Total(row, scale), row.median_ns, row.min_ns, row.max_ns});
}

std::vector<uint64_t> Shuffled(const PublishedRow& row, double scale, uint64_t count, uint64_t seed) {
  std::vector<uint64_t> values = Sorted(row, scale, count);
  Shuffle(&values, seed);
  return values;
}

const PublishedRow& Row(ApiRow row) { return kApiRows[static_cast<int>(row)]; }
const PublishedRow& Row(MemoryRow row) { return kMemoryRows[static_cast<int>(row)]; }
const PublishedRow& Row(StoryKernel row) { return kKernelRows[static_cast<int>(row)]; }

// Cuts the last `count` off.
std::vector<uint64_t> TakeLongest(std::vector<uint64_t>* sorted, uint64_t count) {
  std::vector<uint64_t> longest(sorted->end() - static_cast<ptrdiff_t>(count), sorted->end());
  sorted->resize(sorted->size() - count);
  return longest;
}

struct GraphMix {
  uint64_t launches, tiles, grouped, silu, rms_norm;
};

std::vector<uint8_t> GraphSequence(const GraphMix& mix) {
  std::vector<uint8_t> kinds;
  for (uint64_t i = 0; i < mix.launches; ++i) {
    unsigned kind = 0;
    if (Share(mix.tiles, mix.launches, i) != 0) kind |= kGraphHasTile;
    if (Share(mix.grouped, mix.launches, i) != 0) kind |= kGraphHasGroupedGemm;
    if (Share(mix.silu, mix.launches, i) != 0) kind |= kGraphHasSilu;
    if (Share(mix.rms_norm, mix.launches, i) != 0) kind |= kGraphHasRmsNorm;
    kinds.push_back(static_cast<uint8_t>(kind));
  }
  return kinds;
}

// Each kind of graph with a tile is captured once, by a cudaMemcpyAsync of its own.
uint64_t CapturedCopies(const std::vector<uint8_t>& kinds) {
  std::bitset<kGraphKinds> with_tile;
  for (const uint8_t kind : kinds) {
    if ((kind & kGraphHasTile) != 0) with_tile.set(kind);
  }
  return with_tile.count();
}

}  // namespace

bool ParseFixes(const std::string& list, Fixes* fixes, std::string* unknown) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "event-sync") {
      fixes->event_sync = true;
    } else if (word == "prezero") {
      fixes->prezero = true;
    } else if (word == "slice-graph") {
      fixes->slice_graph = true;
    } else if (word == "handoff") {
      fixes->handoff = true;
    } else if (word == "pool") {
      fixes->pool = true;
    } else if (!word.empty()) {
      *unknown = word;
      return false;
    }
  }
  return true;
}

Plan::Plan(double scale_of_run, const Fixes& wanted_fixes) : scale(scale_of_run), fixes(wanted_fixes) {
  const auto count = [this](const PublishedRow& row) { return Scaled(row.count, scale); };
  steps = count(Row(ApiRow::kDeviceSynchronize));
  requests = std::min(steps, Scaled(kRequests, scale));
  const uint64_t launches = count(Row(ApiRow::kGraphLaunch)), copy_calls = count(Row(ApiRow::kMemcpyAsync));
  const uint64_t device_copies = count(Row(MemoryRow::kDeviceToDevice));
  uploads = count(Row(MemoryRow::kHostToDevice));
  read_backs = count(Row(MemoryRow::kDeviceToHost));
  const uint64_t copies = device_copies + uploads + read_backs;

  GraphMix mix{launches, copies > copy_calls ? copies - copy_calls : 0, count(Row(StoryKernel::kGroupedGemm)),
               count(Row(StoryKernel::kSilu)), count(Row(StoryKernel::kRmsNorm))};
  const uint64_t from_graphs = mix.tiles;
  uint64_t captured = 0;
  for (int i = 0; i < 8; ++i) {  // copies made while capturing are calls too, and so leave as many more to the graphs
    graphs = GraphSequence(mix);
    captured = CapturedCopies(graphs);
    mix.tiles = std::min(launches, from_graphs + captured);
  }
  graphs = GraphSequence(mix);

  const uint64_t tiles = std::max(mix.tiles, Scaled(kTiles, scale));
  large_copies = Scaled(kLargeCopies, scale);
  direct_tiles = tiles - mix.tiles;
  small_copies = device_copies - tiles - large_copies;
  std::vector<uint64_t> device_copy_ns = Sorted(Row(MemoryRow::kDeviceToDevice), scale, device_copies);
  const auto longest = [&device_copy_ns](uint64_t wanted, uint64_t seed) {
    std::vector<uint64_t> values = TakeLongest(&device_copy_ns, wanted);
    Shuffle(&values, seed);
    return Supply(std::move(values));
  };
  large_ns = longest(large_copies, 21);
  tile_ns = longest(tiles, 22);
  small_ns = longest(small_copies, 23);
  upload_ns = Supply(Shuffled(Row(MemoryRow::kHostToDevice), scale, uploads, 24));
  read_back_ns = Supply(Shuffled(Row(MemoryRow::kDeviceToHost), scale, read_backs, 25));
  memsets = count(Row(MemoryRow::kMemset));
  memset_ns = Supply(Shuffled(Row(MemoryRow::kMemset), scale, memsets, 26));

  std::array<uint64_t, kStoryKernels> in_graphs{};
  in_graphs[static_cast<int>(StoryKernel::kGemm)] = launches;
  in_graphs[static_cast<int>(StoryKernel::kFill)] = launches * kFillsPerGraph;
  in_graphs[static_cast<int>(StoryKernel::kGroupedGemm)] = mix.grouped;
  in_graphs[static_cast<int>(StoryKernel::kSilu)] = mix.silu;
  in_graphs[static_cast<int>(StoryKernel::kRmsNorm)] = mix.rms_norm;
  for (int i = 0; i < kStoryKernels; ++i) {
    const uint64_t all = std::max(count(kKernelRows[i]), in_graphs[static_cast<size_t>(i)]);
    direct_kernels[static_cast<size_t>(i)] = all - in_graphs[static_cast<size_t>(i)];
    kernel_ns[static_cast<size_t>(i)] = Supply(Shuffled(kKernelRows[i], scale, all, 40 + static_cast<uint64_t>(i)));
  }

  stream_syncs = count(Row(ApiRow::kStreamSynchronize));
  event_syncs = count(Row(ApiRow::kEventSynchronize));
  mallocs = count(Row(ApiRow::kMalloc));
  for (size_t i = 0; i < calls.size(); ++i) {
    // Two registrations and their two times stay as they are: they come once, whatever the length of the run.
    const bool once = static_cast<ApiRow>(i) == ApiRow::kHostRegister;
    const uint64_t number = once ? kApiRows[i].count : count(kApiRows[i]);
    calls[i] = Ledger(Shuffled(kApiRows[i], once ? 1 : scale, number, 60 + i), kShortestCallNs);
  }

  if (fixes.prezero) direct_kernels[static_cast<int>(StoryKernel::kFill)] = 0;
  if (fixes.slice_graph) {
    direct_tiles = steps;
    for (uint8_t& kind : graphs) kind &= static_cast<uint8_t>(~kGraphHasTile);
  }
}

std::string Plan::Expectation(double scale) {
  std::ostringstream json;
  const auto table = [&](const char* name, const PublishedRow* rows, size_t row_count) {
    json << '"' << name << "\":[";
    for (size_t i = 0; i < row_count; ++i) {
      const bool once = &rows[i] == &Row(ApiRow::kHostRegister);
      json << (i == 0 ? "" : ",") << "{\"name\":\"" << rows[i].name
           << "\",\"count\":" << (once ? rows[i].count : Scaled(rows[i].count, scale))
           << ",\"total_ns\":" << Total(rows[i], once ? 1 : scale) << '}';
    }
    json << ']';
  };
  json << "{\"scale\":" << scale << ",\"steps\":" << Scaled(kSteps, scale) << ',';
  table("cuda_api_sum", kApiRows, static_cast<size_t>(ApiRow::kCount));
  json << ',';
  table("cuda_gpu_kern_sum", kKernelRows, kPublishedKernels);
  json << ',';
  table("cuda_gpu_mem_time_sum", kMemoryRows, static_cast<size_t>(MemoryRow::kCount));
  json << ',';
  table("osrt_sum", kOsRows, static_cast<size_t>(OsRow::kCount));
  json << "}\n";
  return json.str();
}

}  // namespace workloads
