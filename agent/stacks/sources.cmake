stallscope_agent_sources(module_map.cc stack_rounds.cc stack_table.cc take_stack.cc thread_extents.cc unload_hook.cc
  unwind_library.cc)
