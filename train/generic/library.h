// What the LibTorch library exports (see GenericLibrary in train/network.h).
#pragma once
#include "train/network.h"

namespace hotloop {

std::unique_ptr<Network<float>> make_mlp(const NetworkConfig& config, const float* parameters);
std::unique_ptr<Network<double>> make_mlp_double(const NetworkConfig& config, const double* parameters);

std::string torchscript_content(const PolicyGraph& graph, const std::string& metadata);

}  // namespace hotloop

extern "C" const hotloop::GenericLibrary* hotloop_generic_library();
