#include "sim/tasks/reacher.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(Reacher)

}  // namespace hotloop
