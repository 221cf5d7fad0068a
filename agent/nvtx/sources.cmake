stallscope_agent_sources(injection.cc injection_path.cc ranges.cc text_ids.cc)
