// For tests: unix sockets as the test says they are.
#pragma once

#include "collector/main/unix_sockets.h"

namespace stallscope {

class FakeUnixSockets : public UnixSockets {
 public:
  Sockets answer;
  int asked = 0;

 protected:
  Sockets Ask() override {
    ++asked;
    return answer;
  }
};

}  // namespace stallscope
