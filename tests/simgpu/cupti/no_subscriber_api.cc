#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/subscriber_sessions.h"

namespace simgpu::cupti {

uint32_t LibraryApiVersion() { return ActiveLayout().api_version; }
bool WantsToShare(const CUpti_SubscriberParams&) { return false; }

}  // namespace simgpu::cupti
