"""Writes tests/golden/gymnasium/: what Gymnasium's classic-control environments do, for tests/sim/gymnasium_test.cpp.

    python3 -m venv v && v/bin/pip install gymnasium==1.4.0 && v/bin/python tests/sim/make_gymnasium_golden.py

One NAME.json and one NAME.bin an environment. The JSON holds spaces, limits and sizes; the binary file holds, one array
after the other, little-endian, R = random_rows + sum(episode_lengths), S = state_dim, O = obs_dim:
    f64 state[R][S], f64 next_state[R][S], f64 reward[R], f32 action[R], f32 observation[R][O], f32 margin[R],
    u8 terminated[R], u8 truncated[R], f32 reset[reset_rows][O]
The first random_rows are single steps from random states, the rest whole episodes of random actions.

next_state and reward are in double precision throughout: a float32 action would round intermediate results, and
MountainCarContinuous rounds its state to float32 after each step. They come from a second instance that is given float64
actions and whose module keeps doubles. observation and flags come from the environment as it is.
margin: how far the reference is from the other value of `terminated`.
"""

import json
import math
import pathlib

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import continuous_mountain_car

OUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "gymnasium"
RANDOM_ROWS, RESET_ROWS = 1000, 2000
EPISODES = {"CartPole-v1": 24, "MountainCar-v0": 3, "MountainCarContinuous-v0": 1, "Pendulum-v1": 4, "Acrobot-v1": 2}


class DoubleNumpy:
    """numpy, but array() ignores the dtype asked for."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def array(values, dtype=None):
        return np.array(values, dtype=np.float64)


def flip_distance(conditions):
    """conditions: one number each, positive where the condition to terminate holds; any of them terminates."""
    return abs(max(conditions))


def margin(name, s):
    if name == "CartPole-v1":
        theta = 12 * 2 * math.pi / 360
        return flip_distance([abs(s[0]) - 2.4, abs(s[2]) - theta])
    if name.startswith("MountainCar"):
        goal = 0.5 if name == "MountainCar-v0" else 0.45
        return flip_distance([min(s[0] - goal, s[1])])  # both must hold
    if name == "Acrobot-v1":
        return flip_distance([-math.cos(s[0]) - math.cos(s[0] + s[1]) - 1.0])
    return 1.0  # never terminates


def random_state(name, rng):
    near = rng.random() < 0.5
    if name == "CartPole-v1":
        s = rng.uniform([-2.4, -3, -0.2095, -3], [2.4, 3, 0.2095, 3])
        if near:
            k = 0 if rng.random() < 0.5 else 2
            s[k] = rng.choice([-1, 1]) * (2.4 if k == 0 else 0.20943951) + rng.normal() * (0.02 if k == 0 else 0.01)
        return s
    if name.startswith("MountainCar"):
        s = rng.uniform([-1.2, -0.07], [0.6, 0.07])
        if near:
            s[0] = np.clip(rng.choice([-1.2, 0.45, 0.5, 0.6]) + rng.normal() * 0.02, -1.2, 0.6)
        if rng.random() < 0.2:
            s[1] = rng.choice([-0.07, 0.07, 0.0])
        return s
    if name == "Pendulum-v1":
        s = rng.uniform([-math.pi, -8], [math.pi, 8])
        if near:
            s[0] = rng.choice([-1, 1]) * math.pi + rng.normal() * 0.05
        if rng.random() < 0.2:
            s[0] += 2 * math.pi * rng.integers(-10, 11)
        if rng.random() < 0.2:
            s[1] = rng.choice([-8.0, 8.0])
        return s
    s = rng.uniform([-math.pi] * 2 + [-4 * math.pi, -9 * math.pi], [math.pi] * 2 + [4 * math.pi, 9 * math.pi])
    if near:  # speeds as random play has them, and half of them with the tip about the line
        s[2:] *= 0.2
        if rng.random() < 0.5:
            s[1] = rng.normal() * 0.3
            s[0] = rng.choice([-1, 1]) * 2 * math.pi / 3 + rng.normal() * 0.1
    return s


class Recorder:
    def __init__(self, name):
        self.name = name
        self.env = gymnasium.make(name, disable_env_checker=True)
        self.exact = gymnasium.make(name, disable_env_checker=True).unwrapped
        self.exact.reset(seed=0)
        self.rows = []
        self.box = isinstance(self.env.action_space, gymnasium.spaces.Box)

    def step_exact(self, state, action):
        self.exact.state = np.array(state, dtype=np.float64)
        if self.name == "CartPole-v1":
            self.exact.steps_beyond_terminated = None
        original = continuous_mountain_car.np
        continuous_mountain_car.np = DoubleNumpy()
        try:
            given = np.array([action], dtype=np.float64) if self.box else int(action)
            _, reward, terminated, _, _ = self.exact.step(given)
        finally:
            continuous_mountain_car.np = original
        return np.array(self.exact.state, dtype=np.float64), float(reward), terminated

    def step(self, action):
        state = np.array(self.env.unwrapped.state, dtype=np.float64)
        given = np.array([action], dtype=np.float32) if self.box else int(action)
        observation, reward, terminated, truncated, _ = self.env.step(given)
        next_state, exact_reward, exact_terminated = self.step_exact(state, action)
        distance = margin(self.name, next_state)
        assert abs(reward - exact_reward) <= 1e-5 or distance < 1e-6, (reward, exact_reward)
        assert terminated == exact_terminated or distance < 1e-6
        self.rows.append((state, next_state, exact_reward, action, observation, distance, terminated, truncated))
        return terminated or truncated

    def random_steps(self, rng):
        for _ in range(RANDOM_ROWS):
            self.env.reset()
            state = random_state(self.name, rng)
            if self.name == "MountainCarContinuous-v0":
                state = state.astype(np.float32)
            self.env.unwrapped.state = state
            if self.box:
                reach = 1.5 * self.env.action_space.high[0]  # beyond the bounds too
                self.step(np.float32(rng.uniform(-reach, reach)))
            else:
                self.step(rng.integers(self.env.action_space.n))

    def episodes(self, seed):
        lengths = []
        self.env.action_space.seed(seed)
        for k in range(EPISODES[self.name]):
            self.env.reset(seed=seed + k)
            length, done = 0, False
            while not done:
                action = self.env.action_space.sample()
                done = self.step(action[0] if self.box else action)
                length += 1
            lengths.append(length)
        return lengths

    def resets(self, seed):
        self.env.reset(seed=seed)
        return np.array([self.env.reset()[0] for _ in range(RESET_ROWS)], dtype=np.float32)


def describe(space):
    text = {"type": type(space).__name__, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, gymnasium.spaces.Box):
        # as text: JSON has no infinity
        text["low"] = [repr(float(x)) for x in space.low]
        text["high"] = [repr(float(x)) for x in space.high]
    else:
        text["n"], text["start"] = int(space.n), int(space.start)
    return text


def write(name, seed):
    recorder = Recorder(name)
    recorder.random_steps(np.random.default_rng(seed))
    lengths = recorder.episodes(seed)
    columns = [np.array(column) for column in zip(*recorder.rows)]
    types = ["<f8", "<f8", "<f8", "<f4", "<f4", "<f4", "u1", "u1"]
    with open(OUT / f"{name}.bin", "wb") as f:
        for column, dtype in zip(columns, types):
            f.write(column.astype(dtype).tobytes())
        f.write(recorder.resets(seed).astype("<f4").tobytes())
    spec = recorder.env.spec
    header = {
        "gymnasium": gymnasium.__version__,
        "max_episode_steps": spec.max_episode_steps,
        "reward_threshold": spec.reward_threshold,
        "observation": describe(recorder.env.observation_space),
        "action": describe(recorder.env.action_space),
        "state_dim": int(columns[0].shape[1]),
        "random_rows": RANDOM_ROWS,
        "episode_lengths": lengths,
        "reset_rows": RESET_ROWS,
    }
    (OUT / f"{name}.json").write_text(json.dumps(header, indent=1) + "\n")
    print(name, lengths, "terminated", int(columns[6].sum()), "truncated", int(columns[7].sum()))


if __name__ == "__main__":
    assert gymnasium.__version__ == "1.4.0"
    OUT.mkdir(parents=True, exist_ok=True)
    for number, task in enumerate(EPISODES):
        write(task, 1000 + 100 * number)
