# Unit tests of the agent's parts, in a program of their own: the recording and streaming code without its hooks.
add_library(stallscope_agent_parts STATIC
  hot/clock.cc hot/current_wait.cc hot/process_state.cc hot/ring_writer.cc hot/string_table.cc hot/thread_slot.cc
  hot/waiters.cc entry/own_fd.cc entry/shared_memory.cc stream/batch_encoder.cc stream/control.cc stream/object_ids.cc
  stream/ring_reader.cc)
target_link_libraries(stallscope_agent_parts PRIVATE stallscope_agent_flags)
stallscope_test(agent_hot_test SRCS hot/recorder_test.cc hot/clock_test.cc LIBS stallscope_agent_parts)
stallscope_test(agent_ring_torture_test SRCS hot/ring_torture_test.cc LIBS stallscope_agent_parts LABELS safety)
stallscope_test(agent_stream_test SRCS stream/batch_encoder_test.cc stream/control_test.cc stream/ring_reader_test.cc
  stream/object_ids_test.cc LIBS stallscope_agent_parts stallscope_proto)
