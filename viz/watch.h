// A training with a window beside it.
#pragma once
#include "train/commands.h"
#include "viz/viewer.h"

namespace hotloop {

// As train_command, on a thread of its own, while the calling one shows it. Error before anything is trained where
// there is no window to be had. A window that is closed or lost ends nothing: the training goes on. After its end the
// window stays and says so; it goes by itself where the training failed or was stopped.
int watch_training(const TrainConfig& config, TrainOptions options, const ViewerOptions& viewer);

// What the window and stdout then say.
inline constexpr const char* kTrainingFinished = "training finished: close the window to end";

// Seconds from one picture to the next, so that drawing takes its share of the device and no more. gpu_seconds: of the
// last picture.
double picture_period(double gpu_seconds, bool on_card);

}  // namespace hotloop
