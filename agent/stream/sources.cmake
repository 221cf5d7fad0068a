stallscope_agent_sources(batch_encoder.cc connection.cc control.cc hello.cc level.cc notices.cc object_ids.cc ring_reader.cc
  streamer.cc streamer_health.cc streamer_slots.cc streamer_stacks.cc streaming_thread.cc)
target_compile_definitions(stallscope_agent PRIVATE STALLSCOPE_VERSION="${PROJECT_VERSION}")
