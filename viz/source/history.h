// What the worlds were at their latest positions, so that the viewer can go back and step on to the same bits. The
// state of all worlds is kept at every position, as many positions as fit: a few worlds have minutes, thousands of
// large ones some tens of steps. Worlds apart from the others could not be stepped from, so none is left out.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

class History {
 public:
  // A stretch of memory on exec's device that belongs to the state.
  struct Part {
    void* data;
    std::size_t bytes;
  };
  // limit: bytes of host memory; two positions are kept in any case.
  History(const Exec& exec, std::vector<Part> parts, std::size_t limit = 256u << 20);

  // The parts as they are now are position `position`, one after the last kept or earlier. Positions from here on are
  // forgotten. Waits for exec.
  void keep(std::int64_t position);
  // Back to a kept position; it and those around it stay kept.
  void restore(std::int64_t position) const;
  // Of a kept position only the part with this number.
  void restore_part(std::int64_t position, std::size_t part) const;
  void clear();

  bool empty() const { return count_ == 0; }
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return first_ + count_ - 1; }

 private:
  std::vector<std::byte>& slot(std::int64_t position) const;

  Exec exec_;
  std::vector<Part> parts_;
  std::size_t bytes_ = 0;  // of one position
  std::int64_t capacity_, first_ = 0, count_ = 0;
  mutable std::vector<std::vector<std::byte>> slots_;  // a ring; memory comes with the first use of a slot
};

}  // namespace hotloop
