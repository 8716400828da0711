// The start of a chain's kernels.
#pragma once
#include "sim/core/launch.h"
#include "train/fused/chain_pass.h"

namespace hotloop {

// A launch of Op for `work`, whose pass then knows where what lies.
template <class Op, class Work>
void launch_chain(const Exec& exec, Work work) {
  work.pass.memory = Op::Block::Places::memory(work.pass);
  launch_blocks(exec, dim3(static_cast<unsigned>(chain_blocks(work.pass))), Op{work});
}

}  // namespace hotloop
