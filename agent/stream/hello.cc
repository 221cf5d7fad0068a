#include "agent/stream/hello.h"

#include <atomic>

#include "agent/entry/lifecycle.h"
#include "agent/entry/proc_files.h"
#include "agent/hot/process_state.h"

namespace stallscope::agent {
namespace {

constinit std::atomic<bool> g_simulated_gpu{false};

}  // namespace

void LookForSimulatedGpu() noexcept {
  if (IsForkedChild()) return;  // the loader's lock may have been held at the fork: then it is for ever
  if (ModuleLoaded("libsimgpu")) g_simulated_gpu.store(true, std::memory_order_relaxed);
}

bool WriteHello(ProtoWriter* writer, uint64_t reconnects, bool streaming) noexcept {
  ProcessIdentity identity;
  ReadIdentity(&identity);
  if (streaming) LookForSimulatedGpu();
  const uint64_t frame = writer->BeginFrame();
  const uint64_t hello = writer->BeginMessage(kFrameHello);
  writer->Uint(1, wire::kVersionMajor);
  writer->Uint(2, wire::kVersionMinor);
  writer->Text(3, STALLSCOPE_VERSION);
  writer->Text(4, identity.boot_id);
  writer->Uint(5, identity.pid);
  writer->Uint(6, identity.start_ticks);
  writer->Uint(7, identity.parent_pid);
  writer->Uint(8, identity.uid);
  writer->Text(9, identity.executable);
  writer->Text(10, identity.comm);
  writer->Uint(11, g_header->process_start_ns);
  writer->Uint(12, reconnects);
  writer->Uint(13, streaming ? 1 : 0);
  writer->Uint(14, g_simulated_gpu.load(std::memory_order_relaxed) ? 1 : 0);
  writer->Uint(15, g_header->control.load(std::memory_order_relaxed) & 0xff);
  if (WasAttached()) writer->Uint(16, 1);
  writer->EndMessage(hello);
  return writer->EndFrame(frame);
}

bool WriteGoodbye(ProtoWriter* writer, uint64_t now_ns, bool exec) noexcept {
  const uint64_t frame = writer->BeginFrame();
  const uint64_t goodbye = writer->BeginMessage(kFrameGoodbye);
  writer->Uint(1, now_ns);
  writer->Uint(2, exec ? 1 : 0);
  writer->EndMessage(goodbye);
  return writer->EndFrame(frame);
}

}  // namespace stallscope::agent
