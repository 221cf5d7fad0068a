stallscope_agent_sources(call_record.cc call_table.cc capture_state.cc first_call.cc injection.cc runtime_hooks.cc)

if(BUILD_TESTING)
  set(_cuda ${CMAKE_CURRENT_LIST_DIR})
  stallscope_test(agent_cuda_test
    SRCS ${_cuda}/call_table_test.cc ${_cuda}/call_record_test.cc ${_cuda}/fake_agent.cc ${_cuda}/call_record.cc
         ${_cuda}/call_table.cc ${_cuda}/capture_state.cc ${_cuda}/first_call.cc
    LIBS stallscope_cuda_headers)
endif()
