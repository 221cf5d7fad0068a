stallscope_agent_sources(call_record.cc call_table.cc capture_state.cc first_call.cc runtime_hooks.cc)
