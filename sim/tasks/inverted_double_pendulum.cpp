#include "sim/tasks/inverted_double_pendulum.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(InvertedDoublePendulum)

}  // namespace hotloop
