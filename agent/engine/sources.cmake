stallscope_agent_sources(llama_entry_points.cc token_rules.cc)

if(BUILD_TESTING)
  set(_engine ${CMAKE_CURRENT_LIST_DIR})
  add_library(agent_llama_stand_in SHARED ${_engine}/llama_stand_in.cc)
  target_include_directories(agent_llama_stand_in PRIVATE ${PROJECT_SOURCE_DIR})
  stallscope_test(agent_engine_test
    SRCS ${_engine}/token_rules_test.cc ${_engine}/llama_entry_points_test.cc ${_engine}/token_rules.cc
         ${_engine}/llama_entry_points.cc ${_engine}/../cuda/fake_agent.cc
    LIBS agent_llama_stand_in ${CMAKE_DL_LIBS})
  # The stand-in calls back through the exported name, as libllama does.
  set_target_properties(agent_engine_test PROPERTIES ENABLE_EXPORTS ON)
endif()
