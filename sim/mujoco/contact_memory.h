// The memory of a tap (tap.h) and how the host reads it.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/core/contact_record.h"
#include "sim/core/device.h"

namespace hotloop {

class ContactMemory {
 public:
  ContactMemory() = default;  // no tap
  ContactMemory(Device device, std::int64_t num_worlds, int capacity);

  ContactTap tap() const { return {records_.data(), counts_.data(), capacity_}; }
  // Of one world; waits for exec. Empty without a tap.
  std::vector<ContactRecord> read(const Exec& exec, std::int64_t world) const;

 private:
  int capacity_ = 0;
  Buffer<ContactRecord> records_;
  Buffer<int> counts_;
};

}  // namespace hotloop
