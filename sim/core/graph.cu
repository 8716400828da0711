#include "sim/core/graph.h"

#include <stdexcept>
#include <utility>

#include "sim/core/cuda_check.h"

namespace hotloop {

void Graph::begin(const Exec& exec) {
  if (!exec.device.is_cuda() || exec.stream == nullptr) throw std::logic_error("Graph: needs a CUDA stream");
  drop();
#ifdef HOTLOOP_CUDA
  // thread-local: what other threads do meanwhile neither joins nor breaks the recording
  SIM_CHECK_CUDA(cudaStreamBeginCapture(static_cast<cudaStream_t>(exec.stream), cudaStreamCaptureModeThreadLocal));
#endif
  stream_ = exec.stream;
}

void Graph::end() {
  if (stream_ == nullptr) throw std::logic_error("Graph: end without begin");
#ifdef HOTLOOP_CUDA
  cudaGraph_t graph = nullptr;
  SIM_CHECK_CUDA(cudaStreamEndCapture(static_cast<cudaStream_t>(std::exchange(stream_, nullptr)), &graph));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  SIM_CHECK_CUDA(status);
  executable_ = executable;
#endif
}

void Graph::replay(const Exec& exec) const {
  if (empty()) throw std::logic_error("Graph: nothing recorded");
#ifdef HOTLOOP_CUDA
  SIM_CHECK_CUDA(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), static_cast<cudaStream_t>(exec.stream)));
#else
  (void)exec;
#endif
}

void Graph::drop() noexcept {
#ifdef HOTLOOP_CUDA
  if (stream_ != nullptr) {  // a recording that was left by an exception
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(static_cast<cudaStream_t>(stream_), &graph) == cudaSuccess) cudaGraphDestroy(graph);
    cudaGetLastError();
  }
  if (executable_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_));
#endif
  stream_ = executable_ = nullptr;
}

Graph::~Graph() { drop(); }

Graph::Graph(Graph&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)), executable_(std::exchange(other.executable_, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  if (this != &other) {
    drop();
    stream_ = std::exchange(other.stream_, nullptr);
    executable_ = std::exchange(other.executable_, nullptr);
  }
  return *this;
}

}  // namespace hotloop
