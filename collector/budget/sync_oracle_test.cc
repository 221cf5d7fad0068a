// Over-wait and idle time inside of real blocking calls, against an independent computation.
//
// Reads Nsight Systems exports of other people's programs and the summaries that a separate script made of them
// (STALLSCOPE_DATA, default shared/data beside the source tree); skipped without. The script takes all work of the
// device as waited for; on traces of one stream, as these are, that is what each call waits for.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collector/budget/process_analysis.h"
#include "collector/budget/report_text.h"

namespace stallscope {
namespace {

namespace fs = std::filesystem;

fs::path DataFolder() {
  if (const char* data = std::getenv("STALLSCOPE_DATA")) return data;
  const char* source = std::getenv("STALLSCOPE_SOURCE");
  return fs::path(source != nullptr ? source : ".") / ".." / "shared" / "data";
}

class Names final : public ProcessNames {
 public:
  std::string_view String(StringId) const override { return ""; }
  std::string_view CallName(wire::CudaDomain, uint16_t call) const override { return calls_.at(call); }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }
  uint16_t NumberOf(const std::string& name) {
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i] == name) return static_cast<uint16_t>(i);
    }
    calls_.push_back(name);
    return static_cast<uint16_t>(calls_.size() - 1);
  }

 private:
  std::vector<std::string> calls_;
};

template <typename OnRow>
void Each(sqlite3* db, const std::string& sql, const OnRow& on_row) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    return;  // tables vary with the version
  while (sqlite3_step(statement) == SQLITE_ROW) on_row(statement);
  sqlite3_finalize(statement);
}

wire::CudaCallClass ClassOf(const std::string& name) {
  using wire::CudaCallClass;
  const std::map<std::string, CudaCallClass> classes = {{"cudaDeviceSynchronize", CudaCallClass::kSyncDevice},
                                                        {"cudaThreadSynchronize", CudaCallClass::kSyncDevice},
                                                        {"cudaStreamSynchronize", CudaCallClass::kSyncStream},
                                                        {"cudaMemcpy", CudaCallClass::kCopySync},
                                                        {"cuMemcpyDtoH_v2", CudaCallClass::kCopySync},
                                                        {"cuMemcpyHtoD_v2", CudaCallClass::kCopySync},
                                                        {"cudaMemcpyAsync", CudaCallClass::kCopyAsync},
                                                        {"cudaLaunchKernel", CudaCallClass::kLaunch},
                                                        {"cudaLaunch", CudaCallClass::kLaunch},
                                                        {"cuLaunchKernel", CudaCallClass::kLaunch},
                                                        {"cudaGraphLaunch_v10000", CudaCallClass::kGraphLaunch},
                                                        {"cudaMemset", CudaCallClass::kMemset},
                                                        {"cudaMemsetAsync", CudaCallClass::kMemset}};
  const auto found = classes.find(name);
  return found == classes.end() ? CudaCallClass::kOther : found->second;
}

ProcessReport Analyse(const fs::path& path) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  Names names;
  AnalysisOptions options;
  options.skew_margin_ns = 0;  // the script has none
  auto analysis = ProcessAnalysis::Create(ProcessInfo{}, &names, options);
  std::map<int64_t, std::string> strings;
  Each(db, "select id, value from StringIds", [&](sqlite3_stmt* row) {
    strings[sqlite3_column_int64(row, 0)] = reinterpret_cast<const char*>(sqlite3_column_text(row, 1));
  });
  std::map<int64_t, int64_t> copy_kind;
  Each(db, "select correlationId, copyKind from CUPTI_ACTIVITY_KIND_MEMCPY",
       [&](sqlite3_stmt* row) { copy_kind[sqlite3_column_int64(row, 0)] = sqlite3_column_int64(row, 1); });
  std::map<int64_t, int64_t> stream_of_sync;
  Each(db, "select correlationId, streamId from CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
       [&](sqlite3_stmt* row) { stream_of_sync[sqlite3_column_int64(row, 0)] = sqlite3_column_int64(row, 1); });
  std::map<int64_t, int64_t> stream_of_work;
  struct Table {
    const char* columns;
    wire::GpuOpKind kind;
  };
  const Table tables[] = {{"CUPTI_ACTIVITY_KIND_KERNEL", wire::GpuOpKind::kKernel},
                          {"CUPTI_ACTIVITY_KIND_MEMCPY", wire::GpuOpKind::kCopy},
                          {"CUPTI_ACTIVITY_KIND_MEMSET", wire::GpuOpKind::kMemset},
                          {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", wire::GpuOpKind::kGraph}};
  std::vector<GpuOpEvent> ops;
  for (const Table& table : tables) {
    Each(db, std::string("select start, end, correlationId, streamId, deviceId from ") + table.columns,
         [&](sqlite3_stmt* row) {
           GpuOpEvent op{};
           op.kind = table.kind;
           op.begin = sqlite3_column_int64(row, 0);
           op.end = sqlite3_column_int64(row, 1);
           op.correlation = static_cast<uint32_t>(sqlite3_column_int64(row, 2));
           op.stream = static_cast<uint32_t>(sqlite3_column_int64(row, 3));
           op.device = static_cast<uint32_t>(sqlite3_column_int64(row, 4));
           stream_of_work[op.correlation] = op.stream;
           ops.push_back(op);
         });
  }
  Each(db, "select start, end, globalTid, correlationId, nameId from CUPTI_ACTIVITY_KIND_RUNTIME order by end",
       [&](sqlite3_stmt* row) {
         CudaCallEvent call{};
         const std::string name = strings[sqlite3_column_int64(row, 4)];
         call.thread = 1;
         call.begin = sqlite3_column_int64(row, 0);
         call.end = sqlite3_column_int64(row, 1);
         call.correlation = static_cast<uint32_t>(sqlite3_column_int64(row, 3));
         call.call = names.NumberOf(name);
         call.call_class = ClassOf(std::string(WithoutVersion(name)));
         call.argument = 1;
         const auto copy = copy_kind.find(call.correlation);
         call.copy_kind =
             copy == copy_kind.end() ? wire::CopyKind::kUnknown : static_cast<wire::CopyKind>(copy->second);
         // Stream ids serve as handles; 3 keeps them off the default streams'.
         const auto work = stream_of_work.find(call.correlation);
         const auto sync = stream_of_sync.find(call.correlation);
         if (work != stream_of_work.end()) call.stream = static_cast<uint64_t>(work->second) + 3;
         if (sync != stream_of_sync.end()) call.stream = static_cast<uint64_t>(sync->second) + 3;
         analysis->OnCudaCall(call);
       });
  for (const GpuOpEvent& op : ops) analysis->OnGpuOp(op);
  analysis->Finish();
  sqlite3_close(db);
  return analysis->Report(0, 0);
}

class SyncOracle : public testing::TestWithParam<const char*> {};

TEST_P(SyncOracle, OverWaitAndIdleInside_AgreeWithTheScript) {
  const fs::path trace = DataFolder() / "nsys" / GetParam();
  if (!fs::exists(trace)) GTEST_SKIP() << "no " << trace << " (set STALLSCOPE_DATA)";
  std::ifstream file(trace.string() + ".oracle.json");
  const nlohmann::json oracle = nlohmann::json::parse(file);
  const ProcessReport report = Analyse(trace);
  for (const auto& [name, expected] : oracle["sync_summary"].items()) {
    const auto found = std::find_if(report.syncs.begin(), report.syncs.end(),
                                    [&name = name](const SyncReport& sync) { return sync.name == name; });
    ASSERT_NE(found, report.syncs.end()) << name;
    const auto total_ns = expected["total"].get<int64_t>();
    std::printf("  %s: over-wait %lld ns, script %lld; idle inside %lld ns, script %lld\n", name.c_str(),
                static_cast<long long>(found->over_wait_ns),
                static_cast<long long>(expected["over_wait"].get<int64_t>()),
                static_cast<long long>(found->idle_inside_ns),
                static_cast<long long>(total_ns - expected["busy_in"].get<int64_t>()));
    EXPECT_EQ(found->calls, expected["count"].get<uint64_t>()) << name;
    EXPECT_EQ(found->total_ns, total_ns) << name;
    EXPECT_EQ(found->over_wait_ns, expected["over_wait"].get<int64_t>()) << name;
    EXPECT_EQ(found->idle_inside_ns, total_ns - expected["busy_in"].get<int64_t>()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(RealTraces, SyncOracle,
                         testing::Values("cudf_groupby.sqlite", "graphs_rtx3060.sqlite", "numba_driver.sqlite",
                                         "power_iter_t4.sqlite", "tiny_rtx3080.sqlite", "vecadd_clockskew.sqlite",
                                         "vecadd_launchbound.sqlite", "vecadd_n10.sqlite", "vecadd_serial.sqlite",
                                         "workflow_numba.sqlite"));

}  // namespace
}  // namespace stallscope
