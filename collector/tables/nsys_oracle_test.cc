// Our tables against NVIDIA's own: reads rows of real nsys exports, feeds them as events, compares the CSV byte for
// byte. Needs the collection of traces named by STALLSCOPE_DATA (default: shared/data beside the source tree); skipped
// without.
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "collector/tables/summary_tables.h"
#include "collector/tables/table_format.h"
#include "gtest/gtest.h"

namespace stallscope {
namespace {

namespace fs = std::filesystem;

fs::path DataFolder() {
  if (const char* data = std::getenv("STALLSCOPE_DATA")) return data;
  const char* source = std::getenv("STALLSCOPE_SOURCE");
  return fs::path(source != nullptr ? source : ".") / ".." / "shared" / "data";
}

class Database {
 public:
  explicit Database(const fs::path& path) {
    if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) std::abort();
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool Has(const std::string& table) {
    bool found = false;
    Each("SELECT 1 FROM sqlite_master WHERE name = '" + table + "'", [&found](sqlite3_stmt*) { found = true; });
    return found;
  }

  template <typename OnRow>
  void Each(const std::string& sql, OnRow on_row) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      ADD_FAILURE() << sql << ": " << sqlite3_errmsg(db_);
      return;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) on_row(statement);
    sqlite3_finalize(statement);
  }

 private:
  sqlite3* db_ = nullptr;
};

class ExportNames : public ProcessNames {
 public:
  explicit ExportNames(Database& db) {
    db.Each("SELECT id, value FROM StringIds", [this](sqlite3_stmt* row) {
      strings_[sqlite3_column_int64(row, 0)] = reinterpret_cast<const char*>(sqlite3_column_text(row, 1));
    });
  }
  std::string_view String(StringId id) const override { return strings_.at(id); }
  std::string_view CallName(wire::CudaDomain, uint16_t call) const override {
    return strings_.at(call_name_ids_.at(call));
  }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }

  // Name ids do not fit into a call's number: they are numbered anew.
  uint16_t CallNumber(int64_t name_id) {
    if (call_name_ids_.empty() || call_name_ids_.back() != name_id) call_name_ids_.push_back(name_id);
    return static_cast<uint16_t>(call_name_ids_.size() - 1);
  }

 private:
  std::map<int64_t, std::string> strings_;
  std::vector<int64_t> call_name_ids_;
};

wire::CopyKind CopyKindOfExport(int64_t kind) {
  switch (kind) {
    case 1:
      return wire::CopyKind::kHostToDevice;
    case 2:
      return wire::CopyKind::kDeviceToHost;
    case 8:
      return wire::CopyKind::kDeviceToDevice;
    case 9:
      return wire::CopyKind::kHostToHost;
    case 10:
      return wire::CopyKind::kPeerToPeer;
    default:
      return wire::CopyKind::kUnknown;
  }
}

// Rows go in by name id: that is the order in which nsys leaves rows of equal total.
void Feed(Database& db, ExportNames& names, SummaryTables& tables) {
  EventSink* sink = tables.OnProcess(ProcessInfo{}, &names);
  if (db.Has("CUPTI_ACTIVITY_KIND_RUNTIME")) {
    db.Each("SELECT nameId, start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY nameId",
            [sink, &names](sqlite3_stmt* row) {
              CudaCallEvent event{};
              event.call = names.CallNumber(sqlite3_column_int64(row, 0));
              event.begin = sqlite3_column_int64(row, 1), event.end = sqlite3_column_int64(row, 2);
              sink->OnCudaCall(event);
            });
  }
  auto gpu = [&db, sink](const std::string& table, const std::string& column, auto fill) {
    if (!db.Has(table)) return;
    db.Each("SELECT start, end, " + column + " FROM " + table, [sink, fill](sqlite3_stmt* row) {
      GpuOpEvent event{};
      event.begin = sqlite3_column_int64(row, 0), event.end = sqlite3_column_int64(row, 1);
      fill(event, sqlite3_column_int64(row, 2));
      sink->OnGpuOp(event);
    });
  };
  gpu("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", [](GpuOpEvent& event, int64_t name) {
    event.kind = wire::GpuOpKind::kKernel, event.name = static_cast<StringId>(name);
  });
  gpu("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", [](GpuOpEvent& event, int64_t kind) {
    event.kind = wire::GpuOpKind::kCopy, event.copy_kind = CopyKindOfExport(kind);
  });
  gpu("CUPTI_ACTIVITY_KIND_MEMSET", "0", [](GpuOpEvent& event, int64_t) { event.kind = wire::GpuOpKind::kMemset; });
  if (db.Has("OSRT_API")) {
    std::map<std::string_view, wire::OsCall> calls;
    for (int i = 0; i < static_cast<int>(wire::OsCall::kCount); ++i) calls[wire::kOsCalls[i].name] = wire::OsCall(i);
    db.Each("SELECT nameId, start, end FROM OSRT_API WHERE eventClass = 27 ORDER BY nameId", [&](sqlite3_stmt* row) {
      const std::string_view name = names.String(static_cast<StringId>(sqlite3_column_int64(row, 0)));
      WaitEvent event{};
      event.begin = sqlite3_column_int64(row, 1), event.end = sqlite3_column_int64(row, 2);
      if (auto known = calls.find(name); known != calls.end()) {
        event.call = known->second;
        sink->OnWait(event);
      } else {  // calls that the agent does not hook (ioctl, fopen): same table, no event for them
        tables.table(SummaryKind::kOsRuntime).Add(name, event.end - event.begin);
      }
    });
  }
}

TEST(SummaryTables, RealExports_SameBytesAsNsysStats) {
  const fs::path data = DataFolder();
  if (!fs::exists(data / "nsys_stats")) GTEST_SKIP() << "no collection of real traces at " << data;
  int compared = 0, complete_files = 0;
  for (const auto& entry : fs::directory_iterator(data / "nsys")) {
    if (entry.path().extension() != ".sqlite") continue;
    Database db(entry.path());
    ExportNames names(db);
    SummaryTables tables;
    Feed(db, names, tables);
    int tables_of_file = 0;
    for (const SummaryInfo& summary : kSummaries) {
      const std::string stem = entry.path().stem().string();
      const fs::path expected = data / "nsys_stats" / (stem + "." + std::string(summary.name) + ".csv");
      if (!fs::exists(expected)) continue;
      std::stringstream bytes;
      bytes << std::ifstream(expected, std::ios::binary).rdbuf();
      EXPECT_EQ(FormatCsv(summary, tables.Rows(summary)), bytes.str()) << expected.filename();
      ++compared, ++tables_of_file;
    }
    complete_files += tables_of_file == 4;
  }
  RecordProperty("tables_compared", compared);
  EXPECT_GE(complete_files, 3) << "too few files with all four tables: did the collection change?";
  EXPECT_GE(compared, 40);
}

}  // namespace
}  // namespace stallscope
