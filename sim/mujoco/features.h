// What of MuJoCo's models we step, in one table: the loader refuses the rest, and the README shows it.
#pragma once
#include <string>

struct mjModel_;
typedef struct mjModel_ mjModel;

namespace hotloop {

// Error, one line, for the first element of the model that we do not support.
void check_features(const mjModel* m, const std::string& path);

}  // namespace hotloop
