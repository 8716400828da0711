#include "sim/tasks/walker2d.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(Walker2d)

}  // namespace hotloop
