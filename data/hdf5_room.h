// How much a file of some size can say. A dataset's extent is a number in its header: a few bytes claim any amount that
// no chunk holds, and links bring a reader to the same dataset again and again. So what readers walk is counted, and
// ends with what the file stores, whatever it claims.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/hdf5_handle.h"

namespace hotloop {

class Hdf5Room {
 public:
  explicit Hdf5Room(double file_bytes);

  // For each reading of the first `rows` rows of a set of `dims`, `element` bytes each. Error where the set claims much
  // more than is stored of it, or where all that was taken is more than the file holds.
  void take(hid_t set, const std::vector<hsize_t>& dims, std::size_t element, double rows, const std::string& where);
  // For each listing of a group.
  void take_group(double links, const std::string& where);

 private:
  void take(double stored, double unwritten, const std::string& where);

  double most_claimed_, stored_left_, unwritten_left_;
};

}  // namespace hotloop
