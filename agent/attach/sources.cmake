stallscope_agent_sources(attach_entry.cc call_slots.cc)
