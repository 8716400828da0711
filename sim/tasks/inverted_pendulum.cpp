#include "sim/tasks/inverted_pendulum.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(InvertedPendulum)

}  // namespace hotloop
