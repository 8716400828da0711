// Whether a dataset's actions are of the space that it names, while they pass by.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "data/inspect/leaf.h"
#include "sim/core/env.h"

namespace hotloop {

struct DatasetOrigin {
  bool ours = false;                          // hotloop has written it
  std::optional<ActionSpace> action_space{};  // nothing where none is named that hotloop can have
};
// What `read` finds before it throws an Error, which is a problem.
DatasetOrigin read_origin(Report& report, const std::function<void(DatasetOrigin&)>& read);
// By the attribute of `object` that hotloop's datasets have.
DatasetOrigin hdf5_origin(hid_t file, const char* object, Report& report);

class DatasetActions {
 public:
  // Without a space nothing is checked. The element type is known of our own datasets only.
  DatasetActions(DatasetOrigin origin, Report& report) : origin_(std::move(origin)), report_(report) {}

  // To be given every block of `leaf`; what is wrong with its kind is a problem at once. `where`: whose actions, if
  // there are several such leaves.
  TakeRows take(const DataLeaf& leaf, const std::string& where);
  // To be called once, after all of them: the values that are wrong, in one problem. NaN and infinities, which are
  // counted for every key, are not among them.
  void finish();

 private:
  bool has_kind(const DataLeaf& leaf, const std::string& where);

  DatasetOrigin origin_;
  Report& report_;
  bool kind_told_ = false;
  std::string first_wrong_;
  std::int64_t wrong_ = 0;
};

}  // namespace hotloop
