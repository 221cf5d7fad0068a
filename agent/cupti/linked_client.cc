// A library that is linked to CUPTI's process-wide functions, for linked_clients_test.cc; once with something that it
// exports and once without.
extern "C" int cuptiActivityRegisterCallbacks(void*, void*);

extern "C" __attribute__((visibility(LINKED_CLIENT_VISIBILITY))) int stallscope_linked_client() {
  return cuptiActivityRegisterCallbacks(nullptr, nullptr);
}

// Kept, though nobody calls it.
extern "C" __attribute__((constructor, visibility("hidden"))) void Keep() {
  static int (*volatile kept)() = stallscope_linked_client;
  (void)kept;
}
