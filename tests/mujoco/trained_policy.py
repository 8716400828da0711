"""Policies that `hotloop train` left behind, in numpy: they drive golden_states.py's rollouts."""

import json
import pathlib
import tomllib

import numpy as np
from safetensors import safe_open

ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "silu": lambda x: x / (1.0 + np.exp(-x)),
}


def checkpoint(runs, task):
    """The newest checkpoint of run folder runs/task."""
    path = pathlib.Path(runs) / task / "latest.safetensors"
    if not path.exists():
        raise SystemExit(f"{path}: not there; make it with: hotloop train {task} --run-dir {path.parent}")
    return path


class Policy:
    """The actor of a checkpoint for tasks with bounded real actions (tensors' names: train/policy_spec.cpp)."""

    def __init__(self, path, space):
        with safe_open(path, "np") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name).astype(np.float64) for name in file.keys() if name[:4] != "env."}
        self.config = tomllib.loads(metadata["config"])
        self.steps = json.loads(metadata["counters"])["global_step"]
        self.space = space
        names = [name[:-len(".weight")] for part in ("trunk", "actor")
                 for name in sorted((n for n in tensors if n.startswith(part + ".") and n.endswith(".weight")),
                                    key=lambda n: int(n.split(".")[1]))]
        self.layers = [(tensors[name + ".weight"], tensors[name + ".bias"]) for name in names]
        self.log_std = tensors.get("log_std")
        self.mean, self.deviation = 0.0, 1.0
        if self.config["normalize_observation"]:
            self.mean = tensors["observation_normalizer.mean"]
            variance = tensors["observation_normalizer.sum_squares"] / tensors["observation_normalizer.count"]
            self.deviation = np.sqrt(variance + 1e-8)

    def act(self, observation, rng, noise):
        """An action in the space; noise: times the policy's own deviation, 0: the likeliest action."""
        x, activate = np.asarray(observation, np.float64), ACTIVATIONS[self.config["activation"]]
        if self.config["normalize_observation"]:
            limit = self.config["clip_observation"]
            x = np.clip((x - self.mean) / self.deviation, -limit, limit)
        for i, (weight, bias) in enumerate(self.layers):
            x = weight @ x + bias
            x = activate(x) if i + 1 < len(self.layers) else x
        mean, log_std = (x, self.log_std) if self.log_std is not None else np.split(x, 2)
        draw = mean + noise * np.exp(log_std) * rng.standard_normal(mean.shape)
        low, high = self.space.low, self.space.high
        if self.config["action_distribution"] == "squashed_gaussian":
            draw = low + (np.tanh(draw) + 1.0) / 2.0 * (high - low)
        return np.clip(draw, low, high).astype(np.float32)
