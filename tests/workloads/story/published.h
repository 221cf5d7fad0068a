// The figures of the reference story: a vLLM server under a multi-phase stress test, traced for some 93 s by Nsight
// Systems. Counts, totals and the shape of each row's durations as published; times in nanoseconds.
//
// Read by: the plan of the run (plan.h), and `reference_story --expect`, which prints what the four tables must say.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_PUBLISHED_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_PUBLISHED_H_

#include <cstdint>

#include "tests/workloads/story/story_kernels.h"

namespace workloads {

struct PublishedRow {
  const char* name;  // as the tables print it; of kernels, a part of it
  uint64_t count, total_ns, median_ns, min_ns, max_ns;
};

enum class ApiRow : int {
  kDeviceSynchronize,
  kMemcpyAsync,
  kMalloc,
  kHostRegister,
  kGraphLaunch,
  kEventSynchronize,
  kStreamSynchronize,
  kCount
};
inline constexpr PublishedRow kApiRows[] = {
    {"cudaDeviceSynchronize", 941, 7'222'271'872, 908'912, 1'408, 40'290'944},
    {"cudaMemcpyAsync", 411'272, 5'990'097'264, 2'896, 1'360, 17'203'136},
    {"cudaMalloc", 478, 4'168'098'480, 896'248, 3'200, 216'707'264},
    {"cudaHostRegister", 2, 1'503'715'552, 751'857'776, 710'150'544, 793'565'008},
    {"cudaGraphLaunch_v10000", 12'474, 817'440'160, 61'888, 8'272, 702'416},
    {"cudaEventSynchronize", 6'727, 793'711'744, 132'800, 832, 6'431'360},
    {"cudaStreamSynchronize", 250'102, 734'492'560, 736, 544, 44'161'056},
};

// In the order of StoryKernel. The five published ones took 11.3 of 18.6 s of kernel time (the fills' share, 13.9 %,
// gives the whole); the others fill that up under names of ours, four instances of each a step.
inline constexpr int kPublishedKernels = 5;
inline constexpr uint64_t kOtherKernelTotalNs = 1'220'000'000;
inline constexpr PublishedRow kKernelRows[] = {
    {"KernelTmaWarpSpecializedPingpongSm120", 22'850, 3'819'843'774, 80'288, 38'720, 2'506'720},
    {"FillFunctor<int>", 54'136, 2'591'928'541, 3'776, 576, 335'808},
    {"silu_1", 7'466, 1'946'677'439, 5'792, 5'472, 1'472'704},
    {"KernelPtrArrayTmaWarpSpecializedBlockScaledSm120", 10'891, 1'680'607'021, 150'432, 48'064, 1'331'136},
    {"rms_norm_3", 6'786, 1'290'966'463, 3'920, 3'136, 1'456'352},
    {"flash_fwd_splitkv_kernel", 3'764, kOtherKernelTotalNs, 300'000, 200'000, 900'000},
    {"reshape_and_cache_flash_kernel", 3'764, kOtherKernelTotalNs, 300'000, 200'000, 900'000},
    {"moe_topk_gating_softmax_kernel", 3'764, kOtherKernelTotalNs, 300'000, 200'000, 900'000},
    {"cvt_fp16_to_fp4_quant_kernel", 3'764, kOtherKernelTotalNs, 300'000, 200'000, 900'000},
    {"gated_delta_rule_attention_kernel", 3'764, kOtherKernelTotalNs, 300'000, 200'000, 900'000},
    {"rejection_sample_kernel", 3'764, kOtherKernelTotalNs, 300'000, 200'000, 900'000},
};
static_assert(sizeof kKernelRows / sizeof kKernelRows[0] == kStoryKernels);

enum class MemoryRow : int { kDeviceToDevice, kHostToDevice, kMemset, kDeviceToHost, kCount };
inline constexpr PublishedRow kMemoryRows[] = {
    {"[CUDA memcpy Device-to-Device]", 396'828, 948'153'344, 960, 768, 9'904'128},
    {"[CUDA memcpy Host-to-Device]", 23'912, 839'393'760, 768, 160, 753'024},
    {"[CUDA memset]", 3'628, 8'405'470, 832, 160, 237'216},
    {"[CUDA memcpy Device-to-Host]", 1'596, 3'517'152, 1'536, 544, 24'960},
};
// Of the device-to-device copies: tiles of exactly this size, and a few large ones; the rest has 4 to 64 bytes.
inline constexpr uint64_t kTiles = 92'520, kTileBytes = 524'288;
inline constexpr uint64_t kLargeCopies = 400, kLargeFromBytes = uint64_t{16} << 20, kLargeToBytes = uint64_t{1} << 30;

enum class OsRow : int {
  kEpollWait,
  kCondTimedwait,
  kFutex,
  kSemTimedwait,
  kPoll,
  kSemWait,
  kEpollPwait,
  kRead,
  kCount
};
inline constexpr PublishedRow kOsRows[] = {
    {"epoll_wait", 58'476, 1'121'839'560'352, 10'414'256, 1'008, 92'819'426'416},
    {"pthread_cond_timedwait", 11'599, 971'480'778'944, 100'155'696, 1'024, 4'000'870'368},
    {"futex", 407, 665'111'279'632, 499'920, 1'040, 33'510'823'888},
    {"sem_timedwait", 34, 220'011'952'976, 10'000'302'136, 21'136, 10'000'985'024},
    {"poll", 2'858, 219'742'545'312, 9'600, 1'008, 14'124'115'968},
    {"sem_wait", 457, 141'953'547'152, 31'582'240, 8'896, 42'509'471'648},
    {"epoll_pwait", 1'492, 124'212'057'008, 3'244'624, 1'008, 1'002'528'768},
    {"read", 23'844, 96'916'214'960, 2'096, 1'008, 85'922'753'568},
};

inline constexpr uint64_t kSteps = 941;              // one device-wide synchronize each
inline constexpr uint64_t kWallNs = 93'500'000'000;  // the longest wait took 92.8 s, more than the 83 s that were named
inline constexpr int kSequences = 24, kDraftTokens = 2;  // 45,520 tokens were drafted, 48.4 a step
inline constexpr double kAcceptedShare = 0.335;

// `count` of a run of this scale; at least one.
inline uint64_t Scaled(uint64_t count, double scale) {
  const auto scaled = static_cast<uint64_t>(static_cast<double>(count) * scale + 0.5);
  return scaled == 0 ? 1 : scaled;
}

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_PUBLISHED_H_
