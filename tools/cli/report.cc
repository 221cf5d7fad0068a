// stallscope report: the summary tables of a capture.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collector/tables/summary_tables.h"
#include "collector/tables/table_format.h"
#include "tools/cli/capture_command.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"

namespace stallscope::cli {
namespace {

enum class TableFormat { kCsv, kTable, kJson };

struct ReportOptions {
  std::string file, names, output_base, format_name;
  TableFormat format = TableFormat::kTable;
  bool format_given = false;
};

constexpr const char* kExtensions[] = {"csv", "txt", "json"};

std::string Formatted(TableFormat format, const SummaryInfo& summary, const std::vector<DurationRow>& rows) {
  switch (format) {
    case TableFormat::kCsv:
      return FormatCsv(summary, rows);
    case TableFormat::kJson:
      return FormatJson(summary, rows);
    case TableFormat::kTable:
      break;
  }
  return FormatText(summary, rows);
}

// Many tables on standard output are still one document for whoever parses it.
void PrintOneDocument(const std::vector<const SummaryInfo*>& wanted, const SummaryTables& tables) {
  std::string document;
  for (const SummaryInfo* summary : wanted) {
    absl::StrAppend(&document, document.empty() ? "{" : ",", "\"", std::string(summary->name),
                    "\": ", FormatJson(*summary, tables.Rows(*summary)));
  }
  std::cout << document << "}" << std::endl;
}

int Report(const ReportOptions& options) {
  std::vector<const SummaryInfo*> wanted;
  const std::vector<std::string> names = absl::StrSplit(options.names, ',', absl::SkipEmpty());
  for (const std::string& name : names) {
    const SummaryInfo* summary = FindSummary(name);
    if (summary == nullptr) {
      std::string known;
      for (const SummaryInfo& info : kSummaries)
        absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(info.name));
      Warn(absl::StrCat("no report is named ", name, ". There are ", known, "."));
      return kUsage;
    }
    wanted.push_back(summary);
  }
  if (wanted.empty()) {
    for (const SummaryInfo& summary : kSummaries) wanted.push_back(&summary);
  }
  // As nsys stats: for reading by default, CSV into files.
  const TableFormat format = options.format_given          ? options.format
                             : options.output_base.empty() ? TableFormat::kTable
                                                           : TableFormat::kCsv;

  const bool json_printed = format == TableFormat::kJson && options.output_base.empty();

  SummaryTables tables;
  if (const int code = FeedCapture(options.file, &tables); code != kDone) return code;
  if (json_printed && wanted.size() > 1) {
    PrintOneDocument(wanted, tables);
    return kDone;
  }
  for (const SummaryInfo* summary : wanted) {
    const std::vector<DurationRow> rows = tables.Rows(*summary);
    if (rows.empty()) std::cerr << "SKIPPED: " << options.file << " does not contain " << summary->missing << ".\n";
    if (rows.empty() && !json_printed) continue;
    const std::string text = Formatted(format, *summary, rows);
    if (options.output_base.empty()) {
      std::cout << text;
      if (format == TableFormat::kCsv && wanted.size() > 1) std::cout << '\n';
      continue;
    }
    const std::string path =
        absl::StrCat(options.output_base, "_", std::string(summary->name), ".", kExtensions[static_cast<int>(format)]);
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      const char* why = errno != 0 ? strerror(errno) : "error unknown";
      return Fail(absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", why, ". Give another -o BASE.")));
    }
    std::cout << path << "\n";
  }
  std::cout.flush();
  return kDone;
}

}  // namespace

void AddReportCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = program.add_subcommand(
      "report", "Which API calls, kernels, copies and OS waits took how long, in the tables that nsys users know?");
  command->add_option("FILE", options->file, "a capture (.stallcap)")->required();
  command
      ->add_option(
          "--report", options->names,
          "names with commas between: osrt_sum, cuda_api_sum, cuda_gpu_kern_sum, cuda_gpu_mem_time_sum (default: all)")
      ->type_name("NAMES");
  command->add_option("--format", options->format_name, "csv, table or json (default: table; csv into files)")
      ->check(CLI::IsMember({"csv", "table", "json"}))
      ->each([options](const std::string& format) {
        options->format = format == "csv"    ? TableFormat::kCsv
                          : format == "json" ? TableFormat::kJson
                                             : TableFormat::kTable;
        options->format_given = true;
      });
  command->add_option("-o,--output", options->output_base, "write files BASE_REPORT.csv and print their names")
      ->type_name("BASE");
  command->footer(
      "Time (%) is the share of the rows listed, never of the wall time: for that see stallscope budget.\n"
      "A table without rows is skipped, with a line on stderr; JSON has it empty.\n\n"
      "Example:\n  stallscope report run.stallcap --report cuda_api_sum,osrt_sum -o run");
  command->callback([options, exit_code] { *exit_code = Report(*options); });
}

}  // namespace stallscope::cli
