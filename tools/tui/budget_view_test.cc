#include "tools/tui/budget_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/tui/number_text.h"

namespace stallscope::tui {
namespace {

using testing::HasSubstr;
using testing::Not;

ProcessReport DecodingProcess() {
  ProcessReport process;
  process.pid = 41822;
  process.process_name = "EngineCore";
  process.gpu = "NVIDIA H200";
  process.steps = 100;
  process.tokens = 3200;
  process.tokens_source = "copy size";
  process.segmentation_method = "token delivery";
  process.segmentation_confidence = 0.99;
  process.itl_p50_ns = 16'400'000;
  process.itl_p90_ns = 17'100'000;
  process.itl_p99_ns = 41'800'000;
  process.agent_level = "budget";
  process.agent_cost_share = 0.006;
  auto set = [&process](Line line, int64_t us_per_step, std::string note = "") {
    process.lines[static_cast<int>(line)].ns = us_per_step * 1000 * 100;
    process.lines[static_cast<int>(line)].note = std::move(note);
    process.wall_ns += us_per_step * 1000 * 100;
  };
  set(Line::kGpuGemm, 6120);
  set(Line::kGpuFill, 1290);
  set(Line::kGpuCopyD2d, 940);
  set(Line::kHostSyncOverwait, 3480, "cudaDeviceSynchronize, MainThread");
  set(Line::kHostCpu, 4620);
  process.lines[static_cast<int>(Line::kHostLaunch)].hidden_ns = 310 * 1000 * 100;
  process.health.events = 1234567;
  process.health.late = 2;
  return process;
}

TEST(BudgetView, AgentsOwnAccount_IsShownWithItsReason) {
  ProcessReport process = DecodingProcess();
  process.governor = {
      true, "nodes", "level nodes was asked for and cost more than the limit of 1.0 %", true, false, 0.0042, 0.01, 0};
  process.health_causes = {{"ring_lost", "", 0}, {"gpu_zero_time", "", 1234}, {"gpu_late", "", 2}};
  process.gpu_clock_uncertainty_ns = 420;
  process.batch = {"vLLM", 20, 31.5, 0.5, 32, 256};
  ViewOptions options;
  options.width = 120;
  const std::string text = PlainText(RenderProcess(process, options));
  EXPECT_THAT(text, HasSubstr("level budget · cost 0.4 % (limit 1.0 %)"));
  EXPECT_THAT(text, HasSubstr("less detail: level nodes was asked for and cost more than the limit of 1.0 %"));
  EXPECT_THAT(text, HasSubstr("since start: 1,234 gpu_zero_time, 2 gpu_late\n"));
  EXPECT_THAT(text, HasSubstr("GPU clock +-420 ns"));
  EXPECT_THAT(text, HasSubstr("batch (vLLM): 31.5 decoding, 0.5 prefilling requests; 32.0 and 256.0 tokens scheduled"));
}

TEST(BudgetView, DecodingProcess_AsOnThePage) {
  ViewOptions options;
  options.window_ns = 10'000'000'000;
  EXPECT_EQ(PlainText(RenderProcess(DecodingProcess(), options)),
            "EngineCore 41822 · NVIDIA H200 · window 10 s · level budget · cost 0.6 %\n"
            "tokens/s 1,945  steps/s 60.8   ITL p50 16.4  p90 17.1  p99 41.8 ms   TPOT 514 us\n"
            "boundaries: token delivery (0.99)   tokens: copy size\n"
            "health: 1,234,567 events, 0 lost, 2 late\n"
            "\n"
            "per step                      us      % per token us\n"
            "▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▆▆▆▆▆▆▆▆▆▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄\n"
            "gpu.gemm                   6,120   37.2        191.3\n"
            "gpu.fill                   1,290    7.8         40.3\n"
            "gpu.copy_d2d                 940    5.7         29.4\n"
            "host.sync_overwait         3,480   21.2        108.7   cudaDeviceSynchronize, M…\n"
            "host.cpu                   4,620   28.1        144.4\n"
            "                          ------  -----       ------\n"
            "                          16,450  100.0        514.1\n"
            "\n");
}

TEST(BudgetView, NarrowAndWide_NoLineIsWiderThanAsked) {
  ProcessReport process = DecodingProcess();
  process.notices = {std::string(300, 'n')};
  process.syncs = {{"cudaDeviceSynchronize", 941, 7'200'000'000, 3'700'000'000, 3'800'000'000, 2'900'000'000}};
  process.blocked = {{41901, "Sampler", "pthread_mutex_lock", 0x1000, 2'310'000'000}};
  for (size_t width : {60u, 80u, 100u, 160u}) {
    ViewOptions options;
    options.width = width, options.keys = true;
    for (const StyledLine& line : RenderProcess(process, options)) {
      size_t columns = 0;
      for (const Span& span : line) columns += Columns(span.text);
      EXPECT_LE(columns, width) << PlainText({line});
    }
  }
}

TEST(BudgetView, NarrowTerminal_CutsNoNumberOfASyncAndNoHelp) {
  ProcessReport process = DecodingProcess();
  process.syncs = {{"cudaEventSynchronize", 19107, 4'940'000'000, 334'000'000, 1'460'000'000, 7'000'000}};
  ViewOptions options;
  options.width = 80;
  EXPECT_THAT(PlainText(RenderProcess(process, options)), HasSubstr("  1.46 s idle inside, 7.00 ms unneeded\n"));
  options.help = true;
  EXPECT_THAT(PlainText(RenderProcess(process, options)), HasSubstr("never counts in the sum."));
}

TEST(BudgetView, WideTerminal_ShowsHiddenTimeAndWholeNotes) {
  ViewOptions options;
  options.width = 140;
  const std::string text = PlainText(RenderProcess(DecodingProcess(), options));
  EXPECT_THAT(text, HasSubstr("hidden us"));
  EXPECT_THAT(text, HasSubstr("host.launch                    0    0.0          0.0        310.0"));
  EXPECT_THAT(text, HasSubstr("cudaDeviceSynchronize, MainThread"));
}

TEST(BudgetView, SimulatedGpu_IsSaid) {
  ProcessReport process = DecodingProcess();
  process.simulated_gpu = true;
  EXPECT_THAT(PlainText(RenderHeader(process, {})), HasSubstr("simulated GPU"));
  EXPECT_THAT(StatusLine(process), HasSubstr("simulated GPU"));
}

TEST(BudgetView, NoStep_SaysWhyAndShowsNoZeros) {
  ProcessReport process;
  process.process_name = "python3";
  process.segmentation_why = "no device-to-host copy was waited for yet.";
  const std::string text = PlainText(RenderProcess(process, {}));
  EXPECT_THAT(text, HasSubstr("No step found: no device-to-host copy was waited for yet."));
  EXPECT_THAT(text, Not(HasSubstr("tokens/s")));
  EXPECT_THAT(text, Not(HasSubstr("gpu.gemm")));
}

TEST(BudgetView, TokensUnknown_PerTokenIsADash) {
  ProcessReport process = DecodingProcess();
  process.tokens = 0;
  EXPECT_THAT(PlainText(RenderBudget(process, {})), HasSubstr("gpu.gemm                   6,120   37.2            -"));
}

TEST(BudgetView, AsciiTerminal_GetsNoOtherBytes) {
  ViewOptions options;
  options.ascii = true, options.width = 200;
  for (char c : PlainText(RenderProcess(DecodingProcess(), options))) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(ChooseProcess, MostTokensFirst) {
  BudgetReport report;
  EXPECT_EQ(ChooseProcess(report), std::string::npos);
  report.processes.resize(3);
  report.processes[1].tokens = 5;
  report.processes[2].steps = 100;
  EXPECT_EQ(ChooseProcess(report), 1u);
}

TEST(RenderNothing, SaysWhatToDo) {
  EXPECT_THAT(PlainText(RenderNothing({}, "127.0.0.1:1")), HasSubstr("stallscope run --"));
}

}  // namespace
}  // namespace stallscope::tui
