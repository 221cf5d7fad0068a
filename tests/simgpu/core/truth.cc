#include "tests/simgpu/core/truth.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

const char* KindName(const Work& work) {
  switch (work.index()) {
    case 1:
      return "kernel";
    case 2:
      return "copy";
    case 3:
      return "fill";
    default:
      return "empty";
  }
}

const char* Direction(const Work& work) {
  const auto* copy = std::get_if<CopyWork>(&work);
  if (copy == nullptr) return "";
  if (OnHost(copy->source_kind)) return OnHost(copy->destination_kind) ? "h2h" : "h2d";
  return OnHost(copy->destination_kind) ? "d2h" : "d2d";
}

uint64_t BytesOf(const Work& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) return copy->Bytes();
  const auto* fill = std::get_if<FillWork>(&work);
  return fill == nullptr ? 0 : fill->Bytes();
}

// A name as it may stand between the quotes of JSON.
std::string Escaped(const std::string& name) {
  std::string escaped;
  for (char c : name) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return escaped;
}

int ThreadId() {
  thread_local const int thread_id = static_cast<int>(syscall(SYS_gettid));
  return thread_id;
}

}  // namespace

void TruthLog::AddOperation(const Operation& operation) {
  const auto* kernel = std::get_if<KernelWork>(operation.work);
  const int thread_id = ThreadId();
  std::lock_guard lock(mutex_);
  operations_.push_back({KindName(*operation.work), kernel == nullptr ? nullptr : kernel->kernel,
                         Direction(*operation.work), BytesOf(*operation.work), operation.stream->device()->ordinal(),
                         operation.graph_id, operation.stream->id(), operation.correlation_id, thread_id,
                         operation.queued_ns, operation.span});
}

void TruthLog::AddGraph(const GraphOperation& operation) {
  const int thread_id = ThreadId();
  std::lock_guard lock(mutex_);
  operations_.push_back({"graph", nullptr, "", 0, operation.stream->device()->ordinal(), operation.exec->id,
                         operation.stream->id(), operation.correlation_id, thread_id, operation.queued_ns,
                         operation.span});
  for (size_t i = 0; i < operation.exec->nodes.size(); ++i) {
    const Work& work = operation.exec->nodes[i].work;
    const auto* kernel = std::get_if<KernelWork>(&work);
    operations_.push_back({KindName(work), kernel == nullptr ? nullptr : kernel->kernel, Direction(work), BytesOf(work),
                           operation.stream->device()->ordinal(), operation.exec->id, operation.stream->id(),
                           operation.correlation_id, thread_id, operation.queued_ns, (*operation.node_spans)[i]});
  }
}

void TruthLog::AddWait(const char* kind, Awaited awaited, uint64_t begin_ns, uint64_t ready_ns, uint64_t end_ns) {
  const int thread_id = ThreadId();
  std::lock_guard lock(mutex_);
  waits_.push_back({kind, awaited, thread_id, begin_ns, ready_ns, end_ns});
}

void TruthLog::AddCall(const char* name, uint64_t begin_ns, uint64_t end_ns) {
  const int thread_id = ThreadId();
  std::lock_guard lock(mutex_);
  calls_.push_back({name, thread_id, begin_ns, end_ns});
}

void TruthLog::AddNote(const char* json_object) {
  std::lock_guard lock(mutex_);
  notes_.emplace_back(json_object);
}

void TruthLog::Write() {
  std::lock_guard lock(mutex_);
  std::FILE* file = std::fopen(path_.c_str(), "we");
  if (file == nullptr) {
    std::fprintf(stderr, "simgpu: truth file %s cannot be written\n", path_.c_str());
    return;
  }
  for (const OperationLine& line : operations_) {
    std::fprintf(file,
                 "{\"op\":\"%s\",\"name\":\"%s\",\"direction\":\"%s\",\"bytes\":%" PRIu64
                 ",\"device\":%d,\"graph_id\":%u,\"stream\":%u,\"correlation_id\":%u,"
                 "\"tid\":%d,\"queued_ns\":%" PRIu64 ",\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 "}\n",
                 line.kind, line.kernel == nullptr ? "" : Escaped(line.kernel->name).c_str(), line.direction,
                 line.bytes, line.device, line.graph_id, line.stream_id, line.correlation_id, line.thread_id,
                 line.queued_ns, line.span.begin_ns, line.span.end_ns);
  }
  for (const WaitLine& line : waits_) {
    std::fprintf(file,
                 "{\"wait\":\"%s\",\"device\":%d,\"stream\":%u,\"tid\":%d,\"begin_ns\":%" PRIu64
                 ",\"ready_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 "}\n",
                 line.kind, line.awaited.device, line.awaited.stream_id, line.thread_id, line.begin_ns, line.ready_ns,
                 line.end_ns);
  }
  for (const CallLine& line : calls_) {
    std::fprintf(file, "{\"call\":\"%s\",\"tid\":%d,\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 "}\n", line.name,
                 line.thread_id, line.begin_ns, line.end_ns);
  }
  for (const std::string& note : notes_) std::fprintf(file, "%s\n", note.c_str());
  std::fclose(file);
}

}  // namespace simgpu

void simgpu_truth_note(const char* json_object) {
  simgpu::TruthLog& truth = simgpu::Simulator::Get().truth();
  if (truth.enabled()) truth.AddNote(json_object);
}
