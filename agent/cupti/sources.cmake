stallscope_agent_sources(activity_decoder.cc buffer_pool.cc cupti_library.cc library_clock.cc name_ids.cc record_sizes.cc
  session.cc)
