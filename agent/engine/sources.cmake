stallscope_agent_sources(llama_entry_points.cc step_marker.cc token_rules.cc)
