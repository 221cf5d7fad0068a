#include "tests/golden/sample_frames.h"

#include "proto/wire/calls.h"
#include "proto/wire/shm.h"

namespace stallscope::golden {
namespace {

constexpr uint64_t kBaseNs = 5'000'000'000;

v1::Frame Hello() {
  v1::Frame frame;
  v1::Hello* hello = frame.mutable_hello();
  hello->set_version_major(1);
  hello->set_version_minor(0);
  hello->set_agent_version("0.1.0");
  hello->set_boot_id("0f6bcf4e-0000-4000-8000-123456789abc");
  hello->set_pid(41822);
  hello->set_start_ticks(987654);
  hello->set_parent_pid(41800);
  hello->set_uid(1000);
  hello->set_executable("/usr/bin/python3");
  hello->set_process_name("EngineCore");
  hello->set_monotonic_ns(4'000'000'000);
  hello->set_reconnects(0);
  hello->set_streaming(true);
  hello->set_simulated_gpu(true);
  hello->set_level(1);
  return frame;
}

v1::Frame StacksAndModules() {
  v1::Frame frame;
  v1::Intern* intern = frame.mutable_intern();
  auto* stack = intern->add_stacks();
  stack->set_id(2);
  stack->add_frames(0x7f5aa0002010);
  stack->add_frames(0x55d0c0de1234);
  stack->set_generation(3);
  stack->set_cut(true);
  auto* module = intern->add_modules();
  module->set_id(1);
  module->set_begin(0x7f5aa0000000);
  module->set_bytes(0x200000);
  module->set_bias(0x7f5aa0000000);
  module->set_build_id("\x01\x23\x45\x67\x89\xab\xcd\xef");
  module->set_path("/usr/lib/libengine.so.1");
  module->set_first_generation(1);
  module->set_last_generation(3);
  auto* code = intern->add_codes();
  code->set_begin(0x7f5a90000000);
  code->set_bytes(0x40);
  code->set_name("py::step:/srv/engine.py");
  return frame;
}

v1::Frame Intern() {
  v1::Frame frame;
  v1::Intern* intern = frame.mutable_intern();
  auto* string = intern->add_strings();
  string->set_id(1);
  string->set_text("void gemm<float>(float*)");
  string = intern->add_strings();
  string->set_id(2);
  string->set_text("decode step");
  auto* object = intern->add_objects();
  object->set_id(1);
  object->set_value(0x7f5aa0001000);
  object = intern->add_objects();
  object->set_id(2);
  object->set_value(0x55d0c0de0040);
  auto* name = intern->add_call_names();
  name->set_domain(0);
  name->set_call(165);
  name->set_name("cudaDeviceSynchronize_v3020");
  auto* thread = intern->add_threads();
  thread->set_id(1);
  thread->set_tid(41822);
  thread->set_name("MainThread");
  thread->set_begin_ns(4'000'000'100);
  auto* shape = intern->add_shapes();
  shape->set_id(3);
  for (const uint32_t size : {128u, 1u, 1u, 256u, 1u, 1u}) shape->add_grid_block(size);
  auto* stack = intern->add_stacks();
  stack->set_id(1);
  stack->add_frames(0x7f5aa0002000);
  stack->add_frames(0x7f5aa0003000);
  auto* device = intern->add_devices();
  device->set_id(0);
  device->set_name("simulated GPU");
  device->set_uuid(std::string(16, '\x5a'));
  device->set_multiprocessors(132);
  device->set_simulated(true);
  device->set_mig(true);
  device->set_gpu_instance(3);
  device->set_compute_instance(1);
  auto* context = intern->add_contexts();
  context->set_id(2);
  context->set_device(0);
  context->set_mps(true);
  context->set_green(true);
  context->set_multiprocessors(16);
  context->set_parent(1);
  auto* given = intern->add_names();
  given->set_kind(v1::Intern::Name::STREAM);
  given->set_value(0x55d0c0de0040);
  given->set_name("decode stream");
  return frame;
}

v1::Frame EmptyBatch() {
  v1::Frame frame;
  frame.mutable_batch()->set_thread(1);
  frame.mutable_batch()->set_base_ns(kBaseNs);
  frame.mutable_batch()->set_record_count(2);
  return frame;
}

v1::Frame Waits() {
  v1::Frame frame = EmptyBatch();
  v1::Waits* group = frame.mutable_batch()->mutable_waits();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(i == 0 ? 1000 : -400);
    group->add_duration_ns(2000);
    group->add_call(static_cast<uint32_t>(i == 0 ? wire::OsCall::kPthreadCondTimedwait : wire::OsCall::kEpollWait));
    group->add_object(1);
    group->add_result(i == 0 ? -110 : 3);
    group->add_count(i == 0 ? 0 : 3);
    group->add_timeout_ns(1'000'001);
    group->add_stack(1);
  }
  return frame;
}

v1::Frame Wakes() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(2);
  v1::Wakes* group = frame.mutable_batch()->mutable_wakes();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(3000);
    group->add_call(static_cast<uint32_t>(i == 0 ? wire::OsCall::kPthreadCondSignal : wire::OsCall::kEventfdWrite));
    group->add_object(1);
    group->add_woken_tid(41830);
    group->add_fd_plus_one(i == 0 ? 0 : 9);
    group->add_stack(1);
  }
  return frame;
}

v1::Frame CudaCalls() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(4);
  v1::CudaCalls* group = frame.mutable_batch()->mutable_cuda_calls();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(7000);
    group->add_duration_ns(500);
    group->add_call(i == 0 ? 165 : 41);
    group->add_call_class(
        static_cast<uint32_t>(i == 0 ? wire::CudaCallClass::kGraphLaunch : wire::CudaCallClass::kCopyAsync));
    group->add_domain(static_cast<uint32_t>(i));
    group->add_correlation_delta(i == 0 ? 400'000'000 : -7);
    group->add_stream(2);
    group->add_argument(i == 0 ? 1 : 4096);
    group->add_copy_kind(static_cast<uint32_t>(i == 0 ? wire::CopyKind::kHostToHost : wire::CopyKind::kDeviceToHost));
    group->add_flags(i == 0 ? 2 : 1);
    group->add_result(i == 0 ? 0 : 719);
    group->add_stack(1);
  }
  return frame;
}

v1::Frame GpuOps() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(6);
  v1::GpuOps* group = frame.mutable_batch()->mutable_gpu_ops();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(9000);
    group->add_duration_ns(55'000);
    group->add_kind(static_cast<uint32_t>(i == 0 ? wire::GpuOpKind::kKernel : wire::GpuOpKind::kCopy));
    group->add_correlation_delta(i == 0 ? 400'000'000 : 1);
    group->add_name(i == 0 ? 1 : 0);
    group->add_stream(7);
    group->add_device(1);
    group->add_context(1);
    group->add_argument(i == 0 ? 12 : 4096);
    group->add_copy_kind(static_cast<uint32_t>(i == 0 ? wire::CopyKind::kHostToHost : wire::CopyKind::kDeviceToHost));
    group->add_memory_kinds(3 << 8 | 2);
    group->add_graph(i == 0 ? 17 : 0);
    group->add_shape(i == 0 ? 3 : 0);
  }
  return frame;
}

v1::Frame Ranges() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(8);
  v1::Ranges* group = frame.mutable_batch()->mutable_ranges();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(11'000);
    group->add_duration_ns(i == 0 ? 0 : 16'000'000);
    group->add_kind(static_cast<uint32_t>(i == 0 ? wire::RangeKind::kStepMarker : wire::RangeKind::kPush));
    group->add_text(2);
    group->add_domain(2);
    group->add_number(32);
    group->add_range_id(5);
  }
  return frame;
}

v1::Frame MemoryOps() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(16);
  v1::MemoryOps* group = frame.mutable_batch()->mutable_memory_ops();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(12'000);
    group->add_duration_ns(i == 0 ? 0 : 800);
    group->add_operation(
        static_cast<uint32_t>(i == 0 ? wire::MemoryOperation::kAllocate : wire::MemoryOperation::kGpuFaults));
    group->add_address_delta(i == 0 ? 0x7f5ac0000000 : -0x1000);
    group->add_bytes(i == 0 ? 1 << 20 : 12);
    group->add_extra(i == 0 ? 0x55d0c0de0100 : 0);
    group->add_place(wire::PackMemoryPlace(i == 0 ? 3 : 5, 1, wire::kMemoryFlagAsync));
    group->add_correlation_delta(i == 0 ? 78 : -78);
  }
  return frame;
}

v1::Frame CodeLoads() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(18);
  v1::CodeLoads* group = frame.mutable_batch()->mutable_code_loads();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(13'000);
    group->add_duration_ns(4'000'000);
    group->add_kind(
        static_cast<uint32_t>(i == 0 ? wire::CodeLoadKind::kLazyFunction : wire::CodeLoadKind::kJitCompile));
    group->add_tid(41822);
    group->add_correlation_delta(i == 0 ? 79 : 1);
    group->add_bytes(i == 0 ? 0 : 65'536);
  }
  return frame;
}

v1::Frame States() {
  v1::Frame frame = EmptyBatch();
  frame.mutable_batch()->set_first_record(10);
  v1::States* group = frame.mutable_batch()->mutable_states();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(100);
    group->add_what(static_cast<uint32_t>(i == 0 ? v1::State::CUDA_INITIALIZED : v1::State::CUPTI_ACTIVE));
    group->add_value(13000);
    group->add_text(2);
  }
  return frame;
}

v1::Frame ThreadSamples() {
  v1::Frame frame;
  frame.mutable_batch()->set_base_ns(kBaseNs);
  v1::ThreadSamples* group = frame.mutable_batch()->mutable_thread_samples();
  for (int i = 0; i < 2; ++i) {
    group->add_begin_delta_ns(i);
    group->add_thread(1);
    group->add_on_cpu_ns(1'000'000 + static_cast<uint64_t>(i));
    group->add_run_delay_ns(2000);
    group->add_voluntary_switches(30);
    group->add_involuntary_switches(4);
  }
  return frame;
}

v1::Frame Clock() {
  v1::Frame frame;
  frame.mutable_clock()->set_monotonic_ns(kBaseNs);
  frame.mutable_clock()->set_realtime_ns(1'700'000'000'000'000'000);
  frame.mutable_clock()->set_tsc_uncertainty_ns(12);
  frame.mutable_clock()->set_gpu_uncertainty_ns(900);
  return frame;
}

v1::Frame Health() {
  v1::Frame frame;
  v1::Health* health = frame.mutable_health();
  health->set_monotonic_ns(kBaseNs);
  health->set_events(1234567);
  health->set_ring_lost(8);
  health->set_short_waits(99);
  for (uint64_t i = 0; i < 12; ++i) health->add_counters(i * 3);
  health->set_agent_cpu_ns(5'000'000);
  health->set_process_cpu_ns(900'000'000);
  health->set_socket_bytes(7'654'321);
  health->set_level(2);
  auto* loss = health->add_thread_loss();
  loss->set_thread(1);
  loss->set_lost(8);
  return frame;
}

v1::Frame State() {
  v1::Frame frame;
  frame.mutable_state()->set_what(v1::State::CUPTI_TAKEN);
  frame.mutable_state()->set_monotonic_ns(kBaseNs);
  frame.mutable_state()->set_value(39);
  frame.mutable_state()->set_text("nsys");
  return frame;
}

v1::Frame Control() {
  v1::Frame frame;
  v1::Control* control = frame.mutable_control();
  control->set_level(2);
  control->set_wait_threshold_ns(1000);
  control->set_stacks(true);
  control->set_cost_limit_ppm(10'000);
  control->set_node_window_ms(500);
  control->set_flush(true);
  control->set_detach(true);
  control->set_refused("another user");
  return frame;
}

v1::Frame LaunchesAndCopies() {
  v1::Frame frame = EmptyBatch();
  v1::Batch* batch = frame.mutable_batch();
  batch->set_first_record(12);
  batch->set_record_count(4);
  for (int i = 0; i < 2; ++i) {
    batch->mutable_launches()->add_begin_delta_ns(4000);
    batch->mutable_launches()->add_correlation_delta(1);
    batch->mutable_gpu_copies()->add_begin_delta_ns(5000);
    batch->mutable_gpu_copies()->add_argument(static_cast<uint64_t>(4096 << i));
  }
  // One value for all events of the group.
  batch->mutable_launches()->add_call(211);
  batch->mutable_launches()->add_call_class(static_cast<uint32_t>(wire::CudaCallClass::kLaunch));
  batch->mutable_gpu_copies()->add_kind(static_cast<uint32_t>(wire::GpuOpKind::kCopy));
  return frame;
}

v1::Frame Goodbye() {
  v1::Frame frame;
  frame.mutable_goodbye()->set_monotonic_ns(kBaseNs + 1);
  frame.mutable_goodbye()->set_exec(true);
  return frame;
}

}  // namespace

std::vector<std::pair<std::string, v1::Frame>> SampleFrames() {
  return {{"hello", Hello()},
          {"intern", Intern()},
          {"waits", Waits()},
          {"wakes", Wakes()},
          {"cuda_calls", CudaCalls()},
          {"gpu_ops", GpuOps()},
          {"ranges", Ranges()},
          {"states", States()},
          {"launches_and_copies", LaunchesAndCopies()},
          {"memory_ops", MemoryOps()},
          {"code_loads", CodeLoads()},
          {"stacks_and_modules", StacksAndModules()},
          {"thread_samples", ThreadSamples()},
          {"clock", Clock()},
          {"health", Health()},
          {"state", State()},
          {"control", Control()},
          {"goodbye", Goodbye()}};
}

}  // namespace stallscope::golden
