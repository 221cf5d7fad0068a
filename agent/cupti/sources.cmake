stallscope_agent_sources(activity_buffers.cc activity_decoder.cc activity_kinds.cc api_callback.cc buffer_pool.cc
  callback_cost.cc code_records.cc memory_records.cc mps.cc ring_room.cc
  cost_governor.cc cupti_interface.cc cupti_library.cc keeper_thread.cc library_clock.cc linked_clients.cc name_ids.cc other_clients.cc
  other_clients_hooks.cc process_end.cc record_sizes.cc session.cc subscription.cc)

if(BUILD_TESTING)
  set(_cupti ${CMAKE_CURRENT_LIST_DIR})
  stallscope_test(agent_cupti_test
    SRCS ${_cupti}/activity_decoder_test.cc ${_cupti}/record_sizes_test.cc ${_cupti}/buffer_pool_test.cc
         ${_cupti}/library_clock_test.cc ${_cupti}/library_clock.cc ${_cupti}/cupti_interface.cc
         ${_cupti}/cupti_library.cc ${_cupti}/other_clients_test.cc ${_cupti}/other_clients.cc
         ${_cupti}/takeover_watch_test.cc ${_cupti}/record_flood_test.cc
         ${_cupti}/cost_governor_test.cc ${_cupti}/cost_governor.cc
         ${_cupti}/memory_records_test.cc ${_cupti}/code_records_test.cc ${_cupti}/memory_records.cc
         ${_cupti}/code_records.cc
         ${_cupti}/activity_decoder.cc ${_cupti}/record_sizes.cc ${_cupti}/buffer_pool.cc ${_cupti}/name_ids.cc
         ${_cupti}/activity_kinds_test.cc ${_cupti}/activity_kinds.cc ${_cupti}/mps.cc
         ${_cupti}/callback_cost_test.cc ${_cupti}/callback_cost.cc ${_cupti}/cupti_interface_test.cc
         ${_cupti}/linked_clients_test.cc ${_cupti}/linked_clients.cc ${_cupti}/name_ids_test.cc
         ${_cupti}/ring_room_test.cc ${_cupti}/ring_room.cc
         ${_cupti}/../cuda/call_table.cc ${_cupti}/../cuda/memory_calls.cc ${_cupti}/../entry/elf_module.cc
         ${_cupti}/../cuda/fake_agent.cc
    LIBS stallscope_cuda_headers ${CMAKE_DL_LIBS})
  foreach(_visibility default hidden)
    add_library(agent_linked_client_${_visibility} SHARED ${_cupti}/linked_client.cc)
    target_compile_definitions(agent_linked_client_${_visibility} PRIVATE
      LINKED_CLIENT_VISIBILITY="${_visibility}")
    target_link_options(agent_linked_client_${_visibility} PRIVATE -Wl,-z,undefs,-z,lazy)
    add_dependencies(agent_cupti_test agent_linked_client_${_visibility})
  endforeach()
  target_compile_definitions(agent_cupti_test PRIVATE
    STALLSCOPE_LINKED_CLIENT="$<TARGET_FILE:agent_linked_client_default>"
    STALLSCOPE_SILENT_CLIENT="$<TARGET_FILE:agent_linked_client_hidden>"
    STALLSCOPE_REAL_CUPTI="${CUPTI_INCLUDE_DIR}/../lib/libcupti.so.13")
  # What a kernel record costs, with the agent's own recording code and optimisation.
  stallscope_bench(kernel_record_bench
    SRCS ${_cupti}/kernel_record_bench.cc ${_cupti}/activity_decoder.cc ${_cupti}/memory_records.cc ${_cupti}/code_records.cc
         ${_cupti}/record_sizes.cc ${_cupti}/name_ids.cc ${_cupti}/library_clock.cc
    LIBS stallscope_agent_parts stallscope_cuda_headers ${CMAKE_DL_LIBS})
  target_compile_options(kernel_record_bench PRIVATE -O2)
  target_compile_definitions(kernel_record_bench PRIVATE
    STALLSCOPE_REAL_CUPTI="${CUPTI_INCLUDE_DIR}/../lib/libcupti.so.13")

  stallscope_program(cupti_holder SRCS ${_cupti}/cupti_holder.cc
    LIBS simgpu_cudart stallscope_cuda_headers ${CMAKE_DL_LIBS})
  set_target_properties(cupti_holder PROPERTIES SKIP_BUILD_RPATH TRUE)
  target_link_options(cupti_holder PRIVATE -Wl,--allow-shlib-undefined)
  stallscope_program(cupti_client SRCS ${_cupti}/cupti_client.cc
    LIBS simgpu_cudart simgpu_cupti stallscope_cuda_headers ${CMAKE_DL_LIBS})
  set_target_properties(cupti_client PROPERTIES SKIP_BUILD_RPATH TRUE)
  target_link_options(cupti_client PRIVATE -Wl,--allow-shlib-undefined)
  stallscope_program(cupti_sharing_client SRCS ${_cupti}/cupti_sharing_client.cc
    LIBS simgpu_cudart stallscope_cuda_headers ${CMAKE_DL_LIBS})
  set_target_properties(cupti_sharing_client PROPERTIES SKIP_BUILD_RPATH TRUE)
  target_link_options(cupti_sharing_client PRIVATE -Wl,--allow-shlib-undefined)
  # With the built agent, the simulated GPU and the decode loop.
  stallscope_test(agent_on_simulated_gpu_test
    SRCS ${_cupti}/agent_on_simulated_gpu_test.cc ${_cupti}/received_frames.cc
    LIBS stallscope_proto LABELS system TIMEOUT 120)
  add_dependencies(agent_on_simulated_gpu_test stallscope_agent simgpu decode_workload cupti_holder)
  stallscope_test(agent_beside_other_clients_test
    SRCS ${_cupti}/agent_beside_other_clients_test.cc ${_cupti}/received_frames.cc
    LIBS stallscope_proto LABELS system TIMEOUT 120)
  add_dependencies(agent_beside_other_clients_test stallscope_agent simgpu cupti_client cupti_sharing_client)
  stallscope_test(agent_leaves_cupti_test
    SRCS ${_cupti}/agent_leaves_cupti_test.cc ${_cupti}/received_frames.cc
    LIBS stallscope_proto LABELS system TIMEOUT 120)
  add_dependencies(agent_leaves_cupti_test stallscope_agent simgpu decode_workload cupti_client)
  stallscope_test(agent_on_cupti_versions_test
    SRCS ${_cupti}/agent_on_cupti_versions_test.cc ${_cupti}/received_frames.cc
    LIBS stallscope_proto LABELS system TIMEOUT 120)
  add_dependencies(agent_on_cupti_versions_test stallscope_agent simgpu decode_workload)
endif()
