stallscope_agent_sources(call_record.cc call_table.cc capture_state.cc driver_hooks.cc first_call.cc injection.cc
  memory_calls.cc
  runtime_hooks.cc)

if(BUILD_TESTING)
  set(_cuda ${CMAKE_CURRENT_LIST_DIR})
  stallscope_test(agent_cuda_test
    SRCS ${_cuda}/call_table_test.cc ${_cuda}/call_record_test.cc ${_cuda}/fake_agent.cc ${_cuda}/call_record.cc
         ${_cuda}/memory_calls.cc ${_cuda}/memory_calls_test.cc
         ${_cuda}/call_table.cc ${_cuda}/capture_state.cc ${_cuda}/first_call.cc
    LIBS stallscope_cuda_headers)

  # One program, with a shared runtime and with one of its own inside.
  stallscope_program(cuda_call_styles SRCS ${_cuda}/call_styles.cc
    LIBS simgpu_cudart stallscope_cuda_headers ${CMAKE_DL_LIBS})
  stallscope_program(cuda_call_styles_static SRCS ${_cuda}/call_styles.cc $<TARGET_OBJECTS:simgpu_cudart>
    LIBS simgpu_core stallscope_cuda_headers ${CMAKE_DL_LIBS})
  stallscope_program(cuda_call_styles_linked SRCS ${_cuda}/call_styles.cc
    LIBS simgpu_cudart simgpu_cuda stallscope_cuda_headers ${CMAKE_DL_LIBS})
  target_compile_definitions(cuda_call_styles_linked PRIVATE LINKED_TO_LIBCUDA)
  stallscope_program(cuda_copy_styles SRCS ${_cuda}/copy_styles.cc LIBS simgpu_cudart stallscope_cuda_headers)
  set(_styles cuda_call_styles cuda_call_styles_static cuda_call_styles_linked cuda_copy_styles)
  if(CUDA12_INCLUDE_DIR AND CUPTI12_INCLUDE_DIR)
    # CUDA 13's folder behind CUDA 12's, whose package leaves the compiler's part (crt) out.
    stallscope_program(cuda_copy_styles_12 SRCS ${_cuda}/copy_styles.cc LIBS simgpu_cudart12 stallscope_cuda_headers)
    target_include_directories(cuda_copy_styles_12 SYSTEM BEFORE PRIVATE ${CUDA12_INCLUDE_DIR})
    list(APPEND _styles cuda_copy_styles_12)
  endif()
  foreach(_program ${_styles})
    set_target_properties(${_program} PROPERTIES SKIP_BUILD_RPATH TRUE)
    target_link_options(${_program} PRIVATE -Wl,--allow-shlib-undefined)
  endforeach()
  stallscope_test(agent_call_styles_test SRCS ${_cuda}/call_styles_test.cc ${_cuda}/../cupti/received_frames.cc
    LIBS stallscope_proto LABELS system TIMEOUT 60)
  add_dependencies(agent_call_styles_test stallscope_agent simgpu ${_styles})
  if(TARGET cuda_copy_styles_12)
    target_compile_definitions(agent_call_styles_test PRIVATE COPY_STYLES_12)
  endif()
endif()
