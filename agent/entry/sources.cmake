stallscope_agent_sources(early_calls.cc elf_module.cc lifecycle.cc loader_use.cc log.cc module_walk.cc own_fd.cc proc_files.cc process_hooks.cc real_calls.cc
  shared_memory.cc)
target_link_options(stallscope_agent PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map)
set_property(TARGET stallscope_agent APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
