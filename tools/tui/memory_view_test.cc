#include "tools/tui/memory_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "collector/serve/budget_json.h"
#include "tools/tui/memory_document.h"
#include "tools/tui/styled_text.h"

namespace stallscope::tui {
namespace {

ProcessReport Churning() {
  ProcessReport process;
  process.memory.seconds = 10;
  process.memory.calls = {{"cudaMalloc", 1204, uint64_t{3} << 30, 2, 24'080'000, 90'000},
                          {"cudaFree", 1204, 0, 0, 18'060'000, 60'000},
                          {"cudaHostRegister", 3, 3 << 20, 0, 210'000, 80'000}};
  process.memory.kinds = {{"device", 1204, 1204, uint64_t{3} << 30, uint64_t{3} << 30, uint64_t{12} << 30, 812,
                           (uint64_t{12} << 30) + (512 << 20)},
                          {"registered", 0, 0, 0, 0, 0, 0, 0}};
  process.memory.came_and_went_bytes = uint64_t{3} << 30;
  process.memory.pools = {{0x9000, 0, 64 << 20, 32 << 20, 96 << 20, 3}};
  process.memory.unified.gpu_faults = 12;
  process.memory.unified.gpu_fault_ns = 800'000;
  process.memory.unified.to_device_bytes = 65536;
  process.code_loads = {{"compiling PTX", 2, 777, 10'000'000, 5'000'000}};
  process.contexts = {{2, 0, 16, true, false}};
  process.names = {{"stream", 0x50, "decode"}, {"device", 0, "the big one"}};
  return process;
}

TEST(MemoryView, ChurningProcess_IsSaidInFewLines) {
  ViewOptions options;
  options.width = 80;
  EXPECT_EQ(PlainText(RenderMemory(Churning(), options)),
            "memory   device 12.0 GiB (peak 12.5 GiB), +1,204 -1,204\n"
            "         3.0 GiB came and went (307.2 MiB/s)\n"
            "         1,204 cudaMalloc 24.1 ms, 2 failed   1,204 cudaFree 18.1 ms\n"
            "pools    32.0 MiB of 64.0 MiB used, GPU 0, trimmed 3 times\n"
            "unified  12 GPU faults, 800 us   64.0 KiB to GPUs\n"
            "code     compiling PTX: 2 times, 10.0 ms, longest 5.00 ms\n"
            "names    stream 0x50 decode   GPU 0 the big one\n");
}

TEST(MemoryView, ProcessWithoutMemory_SaysNothing) {
  EXPECT_TRUE(RenderMemory(ProcessReport{}, ViewOptions{}).empty());
}

TEST(MemoryView, NarrowTerminal_CutsNoNumberOff) {
  ViewOptions options;
  options.width = 40;
  for (const StyledLine& line : RenderMemory(Churning(), options)) {
    size_t columns = 0;
    for (const auto& piece : line) columns += piece.text.size();
    EXPECT_LE(columns, 70u);  // one part may be longer than the line, and is then cut with a mark
  }
}

TEST(MemoryDocument, WhatTheCollectorWrites_ComesBack) {
  BudgetReport report;
  report.processes.push_back(Churning());
  const nlohmann::json json = nlohmann::json::parse(BudgetReportToJson(report, 0));
  ProcessReport read;
  ReadMemory(json["processes"][0], &read);
  ViewOptions options;
  EXPECT_EQ(PlainText(RenderMemory(read, options)), PlainText(RenderMemory(Churning(), options)));
  EXPECT_EQ(read.memory.calls.size(), 3u);
  EXPECT_EQ(read.contexts[0].multiprocessors, 16u);
  EXPECT_TRUE(read.contexts[0].green);
  EXPECT_EQ(read.memory.seconds, 10);
}

TEST(MemoryDocument, WrongTypes_ReadAsAbsent) {
  ProcessReport read;
  ReadMemory(nlohmann::json::parse(R"({"memory": [1], "code_loads": {"a": 1}, "names": [7, {"kind": 3}],
                                       "contexts": "x"})"),
             &read);
  EXPECT_TRUE(read.memory.empty());
  EXPECT_TRUE(read.code_loads.empty());
  ASSERT_EQ(read.names.size(), 1u);
  EXPECT_EQ(read.names[0].kind, "");
}

}  // namespace
}  // namespace stallscope::tui
