#include "sim/mujoco/contact_memory.h"

namespace hotloop {

ContactMemory::ContactMemory(Device device, std::int64_t num_worlds, int capacity)
    : capacity_(capacity),
      records_(device, static_cast<std::size_t>(num_worlds * capacity)),
      counts_(device, static_cast<std::size_t>(num_worlds)) {}

std::vector<ContactRecord> ContactMemory::read(const Exec& exec, std::int64_t world) const {
  if (counts_.size() == 0) return {};
  int count = 0;
  copy_async(exec, &count, Device{}, counts_.data() + world, counts_.device(), sizeof count);
  synchronize(exec);
  std::vector<ContactRecord> records(static_cast<std::size_t>(count));
  copy_async(exec, records.data(), Device{}, records_.data() + world * capacity_, records_.device(),
             records.size() * sizeof(ContactRecord));
  synchronize(exec);
  return records;
}

}  // namespace hotloop
