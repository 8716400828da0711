#include "sim/tasks/pusher.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(Pusher)

}  // namespace hotloop
