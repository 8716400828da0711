// What panels remember between pictures and nobody else needs.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/nvml.h"
#include "viz/ui/recorder.h"

namespace hotloop {

struct PanelState {
  std::map<std::string, double> asked;  // [s] when a panel asked the source last, by name

  float columns_scale = 0;  // of the text that the columns were made for; 0: not known yet
  std::int64_t seed = 0;    // that the next restart takes

  struct {
    bool over_time = true;
  } rewards;
  struct {
    int bins = 30;
  } statistics;
  struct {
    float smoothing = 0.6f;  // weight of what was; 0: none
    bool log_x = false, log_y = false;
    std::string filter;
  } training;
  struct {
    bool actions = false, violins = true;
    int component = 0;
    std::vector<float> observations, action_values;  // [num_worlds][dim]
  } distributions;
  struct {
    std::vector<Signal> signals = {{Signal::Kind::reward, 0}, {Signal::Kind::episode_return, 0}};
    std::string filter;
  } watch;
  struct {
    std::string key;
    bool heat = true;
    int slices = 64;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  } tensors;
  struct {
    bool by_return = true, this_world = false;
  } episodes;
  struct {
    std::unique_ptr<GpuMonitor> monitor;
    bool looked = false;
    std::deque<float> picture_ms, draw_ms, steps;
  } machine;
  struct {
    bool follow = true;
    std::string filter;
  } log;
};

}  // namespace hotloop
