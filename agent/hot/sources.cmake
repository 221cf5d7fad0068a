stallscope_agent_sources(clock.cc current_wait.cc process_state.cc ring_writer.cc string_table.cc thread_slot.cc waiters.cc)
