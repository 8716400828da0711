#include "app/run.h"
#include "corridor.h"
#include "sim/core/register.h"

int main(int argc, char** argv) {
  hotloop::register_env<Corridor>();
  return hotloop::run(argc, argv);
}
