#include "sim/tasks/half_cheetah.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(HalfCheetah)

}  // namespace hotloop
