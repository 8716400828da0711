// The one line a user would see.
#pragma once
#include <string>

#include "sim/core/error.h"

namespace hotloop {

// The text of the Error that `body` throws, "" if it throws none. Anything else escapes and fails the test.
template <class Body>
std::string error_text(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace hotloop
