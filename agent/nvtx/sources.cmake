stallscope_agent_sources(injection.cc injection_path.cc names.cc previous_tool.cc ranges.cc text_ids.cc)

if(BUILD_TESTING)
  set(_nvtx ${CMAKE_CURRENT_LIST_DIR})
  stallscope_test(agent_nvtx_test
    SRCS ${_nvtx}/ranges_test.cc ${_nvtx}/injection_test.cc ${_nvtx}/names_test.cc ${_nvtx}/names.cc ${_nvtx}/ranges.cc ${_nvtx}/text_ids.cc ${_nvtx}/injection.cc
         ${_nvtx}/previous_tool.cc ${_nvtx}/../cuda/fake_agent.cc
    LIBS stallscope_cuda_headers ${CMAKE_DL_LIBS})
  # With another tool that was configured first.
  stallscope_test(agent_nvtx_chain_test
    SRCS ${_nvtx}/injection_chain_test.cc ${_nvtx}/previous_tool_test.cc ${_nvtx}/names.cc ${_nvtx}/ranges.cc ${_nvtx}/text_ids.cc ${_nvtx}/injection.cc
         ${_nvtx}/previous_tool.cc ${_nvtx}/../cuda/fake_agent.cc
    LIBS stallscope_cuda_headers ${CMAKE_DL_LIBS})
endif()
