#include "tests/workloads/script/parse_script.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "tests/workloads/script/check_script.h"
#include "tests/workloads/script/line_reader.h"

namespace workloads::script {
namespace {

constexpr size_t kMaxRepeatDepth = 16;
constexpr uint64_t kMaxCount = 1'000'000'000;

using Table = std::unordered_map<std::string, int>;

class Parser {
 public:
  Parser(const std::string& file_name, std::string* error) : error_(error) {
    script_.file_name = file_name;
    script_.streams.push_back({"default", Stream::Kind::kLegacy, 0, 0});
    streams_.emplace("default", kDefaultStream);
  }

  bool Line(std::string_view text, uint32_t number) {
    LineReader line(script_.file_name, text, number, error_);
    last_place_ = {number, static_cast<uint32_t>(text.size() + 1)};
    if (line.failed()) return false;
    if (line.empty()) return true;
    if (!begun_) {
      Head(line);
    } else if (thread_ != nullptr) {
      ThreadLine(line);
    } else if (graph_ != nullptr) {
      GraphLine(line);
    } else {
      TopLine(line);
    }
    return !line.failed();
  }

  bool Finish() {
    if (!begun_) return Refuse(last_place_, "expected `stallscope-script 1` on the first line");
    if (thread_ != nullptr && !repeats_.empty()) {
      const uint32_t line = thread_->statements[repeats_.back()].place.line;
      return Refuse(last_place_, "expected `end` of the repeat of line " + std::to_string(line));
    }
    if (thread_ != nullptr) return Missing("thread", thread_->name, thread_->place);
    if (graph_ != nullptr) return Missing("graph", graph_->name, graph_->place);
    if (script_.threads.empty()) return Refuse(last_place_, "expected at least one `thread NAME`");
    return true;
  }

  Script script_;

 private:
  bool Refuse(Place place, const std::string& what) {
    *error_ = ErrorAt(script_.file_name, place, what);
    return false;
  }
  bool Missing(const std::string& what, const std::string& name, Place place) {
    return Refuse(last_place_, "expected `end` of " + what + " " + name + " (line " + std::to_string(place.line) + ")");
  }

  void Head(LineReader& line) {
    if (!line.Take("stallscope-script")) return line.Expect("`stallscope-script 1` on the first line");
    line.Number("the version of the grammar", 1, 1);
    line.End("");
    begun_ = true;
  }

  // A new name of a table; `rows` gets its row.
  template <typename Row>
  Row* Declare(LineReader& line, const std::string& what, Table* table, std::vector<Row>* rows) {
    const Place place = line.Here();
    const std::string name = line.Name("a name for the " + what);
    if (line.failed()) return nullptr;
    if (!table->emplace(name, static_cast<int>(rows->size())).second) {
      line.Refuse(place, "expected a new name: there is a " + what + " " + name + " already");
      return nullptr;
    }
    rows->emplace_back();
    rows->back().name = name;
    return &rows->back();
  }

  int Known(LineReader& line, const std::string& what, const Table& table) {
    const Place place = line.Here();
    const std::string name = line.Name("the name of a " + what);
    if (line.failed()) return 0;
    const auto found = table.find(name);
    if (found == table.end()) {
      line.Refuse(place, "there is no " + what + " " + name + "; expected one that is declared above");
      return 0;
    }
    return found->second;
  }

  void TopLine(LineReader& line) {
    const Place place = line.Here();
    if (line.Take("stream")) return StreamLine(line);
    if (line.Take("event")) {
      Event* event = Declare(line, "event", &events_, &script_.events);
      if (event != nullptr) event->blocking = line.Take("blocking");
      return line.End("`blocking`");
    }
    if (line.Take("mutex")) {
      Declare(line, "mutex", &mutexes_, &script_.mutexes);
      return line.End("");
    }
    if (line.Take("queue")) {
      Queue* queue = Declare(line, "queue", &queues_, &script_.queues);
      if (queue != nullptr && line.TakeKey("capacity")) queue->capacity = line.Number("a capacity", 1, kMaxCount);
      return line.End("`capacity=`");
    }
    if (line.Take("graph")) {
      graph_ = Declare(line, "graph", &graphs_, &script_.graphs);
      if (graph_ != nullptr) graph_->place = place;
      return line.End("");
    }
    if (line.Take("thread")) {
      thread_ = Declare(line, "thread", &threads_, &script_.threads);
      if (thread_ != nullptr) thread_->place = place;
      return line.End("");
    }
    line.Expect("stream, event, mutex, queue, graph or thread");
  }

  void StreamLine(LineReader& line) {
    Stream* stream = Declare(line, "stream", &streams_, &script_.streams);
    while (stream != nullptr && !line.failed() && !line.AtEnd()) {
      if (line.TakeKey("device")) {
        stream->device = static_cast<uint32_t>(line.Number("a device", 0, kMaxDevices - 1));
      } else if (line.TakeKey("priority")) {
        stream->priority = line.Signed("a priority", -16, 16);
      } else {
        stream->kind =
            static_cast<Stream::Kind>(line.OneOf("blocking, nonblocking, legacy, per_thread, device= or priority=",
                                                 {"blocking", "nonblocking", "legacy", "per_thread"}));
      }
    }
  }

  uint32_t NameIndex(const std::string& name) {
    const auto [found, is_new] = names_.emplace(name, static_cast<int>(script_.names.size()));
    if (is_new) script_.names.push_back(name);
    return static_cast<uint32_t>(found->second);
  }

  // The parts of a kernel, copy or fill behind its stream; false: it is none.
  void Kernel(LineReader& line, DeviceWork* work) {
    work->kind = DeviceWork::Kind::kKernel;
    work->duration_ns = line.Time("the kernel's duration", 1);
    work->name = NameIndex(line.Quoted("the kernel's name in quotes"));
  }
  void Copy(LineReader& line, DeviceWork* work) {
    work->kind = DeviceWork::Kind::kCopy;
    work->copy = static_cast<CopyKind>(line.OneOf("h2d, d2h, d2d, h2h or p2p", {"h2d", "d2h", "d2d", "h2h", "p2p"}));
    work->bytes = line.Number("bytes", 1, kMaxBytes);
    work->duration_ns = line.Time("the copy's duration", 1);
  }
  void Fill(LineReader& line, DeviceWork* work) {
    work->kind = DeviceWork::Kind::kFill;
    work->bytes = line.Number("bytes", 1, kMaxBytes);
    work->duration_ns = line.Time("the fill's duration", 1);
  }

  // What may follow in any order. `branch`: only in a graph; `call_ns`: only in a thread.
  void Options(LineReader& line, DeviceWork* work, uint32_t* branch, uint64_t* call_ns) {
    while (!line.failed() && !line.AtEnd()) {
      const bool kernel = work->kind == DeviceWork::Kind::kKernel, copy = work->kind == DeviceWork::Kind::kCopy;
      if (line.TakeKey("at")) {
        At(line, work);
      } else if (call_ns != nullptr && line.TakeKey("for")) {
        *call_ns = line.Time("the host time of the call", 1);
      } else if (branch != nullptr && line.TakeKey("branch")) {
        *branch = static_cast<uint32_t>(line.Number("a branch", 0, 63));
      } else if (kernel && line.TakeKey("grid")) {
        work->grid = line.Dimensions("a grid", 2'147'483'647);
      } else if (kernel && line.TakeKey("block")) {
        work->block = line.Dimensions("a block", 1024);
      } else if (kernel && line.TakeKey("shared")) {
        work->shared_bytes = static_cast<uint32_t>(line.Number("bytes of shared memory", 0, 1 << 20));
      } else if (copy && line.Take("pageable")) {
        work->pageable = true;
      } else if (copy && branch == nullptr && line.Take("sync")) {
        work->synchronous = true;
      } else {
        line.Expect(std::string(kernel ? "grid=, block=, shared=, " : "") + (copy ? "pageable, " : "") +
                    (copy && branch == nullptr ? "sync, " : "") + (branch != nullptr ? "branch=, " : "for=, ") +
                    "at= or the end of the line");
      }
    }
  }
  void For(LineReader& line, Statement* s) {
    if (line.TakeKey("for")) s->call_ns = line.Time("the host time of the call", 1);
  }
  void At(LineReader& line, DeviceWork* work) {
    const Place place = line.Here();
    work->at_ns = line.Time("a begin", 0);
    if (!repeats_.empty()) line.Refuse(place, "`at=` inside `repeat` would let every round begin at one moment");
  }

  void GraphLine(LineReader& line) {
    GraphNode node;
    node.place = line.Here();
    if (line.Take("end")) {
      if (graph_->nodes.empty()) line.Refuse(node.place, "expected a kernel, copy, fill or whole in the graph");
      graph_ = nullptr;
      return line.End("");
    }
    if (line.Take("kernel")) {
      Kernel(line, &node.work);
    } else if (line.Take("copy")) {
      Copy(line, &node.work);
    } else if (line.Take("fill")) {
      Fill(line, &node.work);
    } else if (line.Take("whole")) {
      node.work.kind = DeviceWork::Kind::kWhole;
      node.work.duration_ns = line.Time("the graph's duration", 1);
    } else {
      return line.Expect("kernel, copy, fill, whole or end");
    }
    Options(line, &node.work, &node.branch, nullptr);
    graph_->nodes.push_back(node);
  }

  void ThreadLine(LineReader& line) {
    Statement statement;
    statement.place = line.Here();
    if (line.Take("end")) {
      End();
      return line.End("");
    }
    if (!DeviceStatement(line, &statement) && !HostStatement(line, &statement)) return;
    thread_->statements.push_back(statement);
    if (statement.action == Action::kRepeat) repeats_.push_back(thread_->statements.size() - 1);
  }

  void End() {
    if (repeats_.empty()) {
      thread_ = nullptr;
      return;
    }
    const size_t begin = repeats_.back();
    repeats_.pop_back();
    Statement end;
    end.action = Action::kEndRepeat;
    end.object = static_cast<int>(begin);
    end.place = last_place_;
    thread_->statements[begin].object = static_cast<int>(thread_->statements.size());
    thread_->statements.push_back(end);
  }

  // Statements that put something on a stream.
  bool DeviceStatement(LineReader& line, Statement* s) {
    s->action = Action::kDevice;
    if (line.Take("launch")) {
      s->stream = Known(line, "stream", streams_);
      Kernel(line, &s->work);
      Options(line, &s->work, nullptr, &s->call_ns);
    } else if (line.Take("copy")) {
      s->stream = Known(line, "stream", streams_);
      Copy(line, &s->work);
      Options(line, &s->work, nullptr, &s->call_ns);
      const Stream::Kind kind = script_.streams[static_cast<size_t>(s->stream)].kind;
      if (s->work.synchronous && kind != Stream::Kind::kLegacy) {
        line.Refuse(s->place, "a sync copy runs on a legacy default stream; expected one, such as `default`");
      }
    } else if (line.Take("fill")) {
      s->stream = Known(line, "stream", streams_);
      Fill(line, &s->work);
      Options(line, &s->work, nullptr, &s->call_ns);
    } else if (line.Take("graph")) {
      s->action = Action::kGraph;
      s->stream = Known(line, "stream", streams_);
      s->object = Known(line, "graph", graphs_);
      if (line.TakeKey("at")) At(line, &s->work);
      For(line, s);
      if (s->work.at_ns == kNoTime && line.TakeKey("at")) At(line, &s->work);
      line.End("for=, at=");
    } else if (line.Take("record")) {
      s->action = Action::kRecord;
      s->object = Known(line, "event", events_);
      s->stream = Known(line, "stream", streams_);
      line.End("");
    } else if (line.Take("await")) {
      s->action = Action::kAwait;
      s->stream = Known(line, "stream", streams_);
      s->object = Known(line, "event", events_);
      line.End("");
    } else {
      return false;
    }
    return true;
  }

  bool HostStatement(LineReader& line, Statement* s) {
    if (line.Take("work")) {
      Timed(line, s, Action::kWork);
    } else if (line.Take("sleep")) {
      Timed(line, s, Action::kSleep);
    } else if (line.Take("call")) {
      s->object = static_cast<int>(NameIndex(line.Name("the name of an API function")));
      Timed(line, s, Action::kCall);
    } else if (line.Take("sync")) {
      Waits(line, s, {Action::kSyncStream, Action::kSyncEvent, Action::kSyncDevice});
      For(line, s);
    } else if (line.Take("query")) {
      Waits(line, s, {Action::kQueryStream, Action::kQueryEvent});
    } else if (line.Take("poll")) {
      OfObject(line, s, Action::kPollEvent, "event", events_);
    } else if (line.Take("lock")) {
      OfObject(line, s, Action::kLock, "mutex", mutexes_);
    } else if (line.Take("unlock")) {
      OfObject(line, s, Action::kUnlock, "mutex", mutexes_);
    } else if (line.Take("put")) {
      OfObject(line, s, Action::kPut, "queue", queues_);
    } else if (line.Take("take")) {
      OfObject(line, s, Action::kTake, "queue", queues_);
    } else if (line.Take("alloc")) {
      Memory(line, s, Action::kAlloc);
      s->work.bytes = line.Number("bytes", 1, kMaxBytes);
      For(line, s);
    } else if (line.Take("free")) {
      Memory(line, s, Action::kFree);
    } else if (line.Take("step")) {
      s->action = Action::kStep;
      s->count = line.Number("tokens", 0, kMaxCount);
    } else if (line.Take("repeat")) {
      s->action = Action::kRepeat;
      s->count = line.Number("how often", 1, kMaxCount);
      if (repeats_.size() >= kMaxRepeatDepth) line.Refuse(s->place, "at most 16 repeats may stand in each other");
    } else {
      line.Expect(
          "launch, copy, fill, graph, record, await, work, sleep, call, sync, query, poll, lock, unlock, put, take, "
          "alloc, "
          "free, step, repeat or end");
      return false;
    }
    line.End("");
    return true;
  }

  void Timed(LineReader& line, Statement* s, Action action) {
    s->action = action;
    s->duration_ns = line.Time("a time", 0);
  }
  void OfObject(LineReader& line, Statement* s, Action action, const std::string& what, const Table& table) {
    s->action = action;
    s->object = Known(line, what, table);
  }
  void Memory(LineReader& line, Statement* s, Action action) {
    s->action = action;
    s->memory = static_cast<MemoryKind>(line.OneOf("device, pinned or registered", {"device", "pinned", "registered"}));
  }
  void Waits(LineReader& line, Statement* s, const std::vector<Action>& actions) {
    const bool device = actions.size() > 2;
    const int which = line.OneOf(device ? "stream, event or device" : "stream or event",
                                 device ? std::vector<std::string_view>{"stream", "event", "device"}
                                        : std::vector<std::string_view>{"stream", "event"});
    s->action = actions[static_cast<size_t>(which)];
    if (which == 0) s->stream = Known(line, "stream", streams_);
    if (which == 1) s->object = Known(line, "event", events_);
    // `sync device NAME`: the device of that stream.
    if (which == 2 && !line.AtEnd() && !line.Ahead("for=")) s->stream = Known(line, "stream", streams_);
  }

  std::string* const error_;
  Table names_, streams_, events_, mutexes_, queues_, graphs_, threads_;
  Thread* thread_ = nullptr;
  Graph* graph_ = nullptr;
  std::vector<size_t> repeats_;  // open ones, by index of their statement
  bool begun_ = false;
  Place last_place_{1, 1};
};

}  // namespace

std::optional<Script> ParseScript(const std::string& file_name, std::string_view text, std::string* error) {
  error->clear();
  Parser parser(file_name, error);
  uint32_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (!parser.Line(text.substr(0, end), ++number)) return std::nullopt;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (!parser.Finish()) return std::nullopt;
  if (*error = CheckScript(parser.script_); !error->empty()) return std::nullopt;
  return std::move(parser.script_);
}

std::optional<Script> ReadScript(const std::string& path, std::string* error) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    *error = path + ": cannot be read (" + std::strerror(errno) + "); is it a script, and not empty?";
    return std::nullopt;
  }
  return ParseScript(path, text.str(), error);
}

}  // namespace workloads::script
