#include "sim/tasks/humanoid_standup.h"

#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"

namespace hotloop {

HOTLOOP_INSTANTIATE_TASK(HumanoidStandup)

}  // namespace hotloop
