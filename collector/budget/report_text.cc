#include "collector/budget/report_text.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "collector/memory/memory_words.h"

namespace stallscope {
namespace {

std::string OsCallName(uint64_t call) {
  if (call >= static_cast<uint64_t>(wire::OsCall::kCount)) return "a call of a newer agent";
  return wire::kOsCalls[call].name;
}

std::string Bytes(uint64_t bytes) {
  constexpr uint64_t kKib = 1024, kMib = kKib * 1024, kGib = kMib * 1024;
  if (bytes >= kGib && bytes % kGib == 0) return absl::StrCat(bytes / kGib, " GiB");
  if (bytes >= kMib && bytes % kMib == 0) return absl::StrCat(bytes / kMib, " MiB");
  if (bytes >= kKib && bytes % kKib == 0) return absl::StrCat(bytes / kKib, " KiB");
  return absl::StrCat(bytes, " B");
}

std::string WithThousands(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace

std::string TextOfThread(ThreadIndex thread, const ProcessNames* names) {
  const ThreadInfo* thread_info = names == nullptr ? nullptr : names->Thread(thread);
  if (thread_info == nullptr) return absl::StrCat("thread ", thread);
  if (thread_info->name.empty()) return absl::StrCat("tid ", thread_info->tid);
  return thread_info->name;
}

std::string_view WithoutVersion(std::string_view call_name) {
  if (call_name.size() <= 6) return call_name;
  const std::string_view suffix = call_name.substr(call_name.size() - 6);
  const bool version = suffix.substr(0, 2) == "_v" && std::all_of(suffix.begin() + 2, suffix.end(), [](char c) {
                         return std::isdigit(static_cast<unsigned char>(c)) != 0;
                       });
  return version ? call_name.substr(0, call_name.size() - 6) : call_name;
}

std::string TextOfCause(const Cause& cause, const ProcessNames* names) {
  const uint64_t high = HighOf(cause.key), low = LowOf(cause.key);
  const auto thread = static_cast<ThreadIndex>(low);
  switch (KindOf(cause.key)) {
    case CauseKind::kNone:
      return "";
    case CauseKind::kOsCall:
      return absl::StrCat(OsCallName(high), ", ", TextOfThread(thread, names));
    case CauseKind::kCudaCall: {
      const auto domain = static_cast<wire::CudaDomain>(high >> 16);
      // Debian's abseil is built for C++14 and does not take std::string_view.
      const std::string name(
          names == nullptr ? "" : WithoutVersion(names->CallName(domain, static_cast<uint16_t>(high & 0xffff))));
      return absl::StrCat(name, ", ", TextOfThread(thread, names));
    }
    case CauseKind::kThread:
      return TextOfThread(thread, names);
    case CauseKind::kWaker:
      return absl::StrCat(TextOfThread(thread, names), ", waited for in ", OsCallName(high));
    case CauseKind::kKernel:
      return high == 0 ? std::string() : absl::StrCat("replayed by graph ", high);
    case CauseKind::kCopy: {
      std::string text = absl::StrCat(WithThousands(cause.count), " x ", Bytes(low));
      if (high != 0) absl::StrAppend(&text, ", graph ", high);
      return text;
    }
    case CauseKind::kCodeLoad:
      return absl::StrCat(CodeLoadName(static_cast<wire::CodeLoadKind>(high)), ", ", TextOfThread(thread, names));
    case CauseKind::kWithinClockError:
      return absl::StrCat("end of waits, within clock error, ", TextOfThread(thread, names));
  }
  return "";
}

}  // namespace stallscope
