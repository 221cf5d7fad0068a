# Unit tests of the agent's parts, in a program of their own: the recording and streaming code without its hooks.
add_library(stallscope_agent_parts STATIC
  hot/clock.cc hot/current_wait.cc hot/process_state.cc hot/ring_writer.cc hot/string_table.cc hot/thread_slot.cc
  hot/waiters.cc entry/early_calls.cc entry/elf_module.cc entry/loader_use.cc entry/own_fd.cc entry/shared_memory.cc os/fd_kinds.cc stream/batch_encoder.cc stream/control.cc stream/object_ids.cc
  stream/ring_reader.cc)
target_link_libraries(stallscope_agent_parts PRIVATE stallscope_agent_flags)
target_compile_options(stallscope_agent_parts PRIVATE ${STALLSCOPE_SANITIZE_FLAGS})
stallscope_test(agent_hot_test SRCS hot/recorder_test.cc hot/clock_test.cc entry/loader_use_test.cc attach/slot_table_test.cc
  entry/elf_module_test.cc os/fd_kinds_test.cc LIBS stallscope_agent_parts ${CMAKE_DL_LIBS})
# Its reader looks at records while they are overwritten and finds out by their numbers: to ThreadSanitizer that is a race.
if(NOT STALLSCOPE_SANITIZE STREQUAL "thread")
  stallscope_test(agent_ring_torture_test SRCS hot/ring_torture_test.cc LIBS stallscope_agent_parts LABELS safety)
endif()
stallscope_test(agent_stream_test SRCS stream/batch_encoder_test.cc stream/control_test.cc stream/ring_reader_test.cc
  stream/object_ids_test.cc stream/arena_test.cc LIBS stallscope_agent_parts stallscope_proto)
# Stacks, with the real libunwind where it is installed.
add_library(stallscope_stack_parts STATIC
  stacks/module_map.cc stacks/stack_rounds.cc stacks/stack_table.cc stacks/take_stack.cc stacks/thread_extents.cc
  stacks/unwind_library.cc)
target_link_libraries(stallscope_stack_parts PRIVATE stallscope_agent_flags PUBLIC stallscope_agent_parts ${CMAKE_DL_LIBS})
stallscope_test(agent_stacks_test SRCS stacks/stacks_test.cc LIBS stallscope_stack_parts)
stallscope_bench(agent_stack_bench SRCS stacks/stack_bench.cc LIBS stallscope_stack_parts GTest::gtest)

# What the hooks cost: overhead_bench.py LIBRARY PROGRAM prints the table; ctest runs it for a moment so that it cannot rot.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
add_executable(agent_overhead_bench os/overhead_bench.c)
target_compile_options(agent_overhead_bench PRIVATE -O2)
target_link_libraries(agent_overhead_bench PRIVATE Threads::Threads)
add_test(NAME agent_overhead_bench_smoke
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/os/overhead_bench.py $<TARGET_FILE:stallscope_agent>
          $<TARGET_FILE:agent_overhead_bench> --turns 1 --scale 0.01)
set_tests_properties(agent_overhead_bench_smoke PROPERTIES LABELS "bench-smoke" TIMEOUT 120)
