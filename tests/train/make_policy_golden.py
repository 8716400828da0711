#!/usr/bin/env python3
"""Trains small policies with CleanRL and Stable-Baselines3 themselves, and writes them as safetensors files together
with what they do: actions for some observations and returns in Gymnasium (policies.json).

  python3 -m venv venv && venv/bin/pip install torch gymnasium==0.29.1 stable-baselines3==2.9.2 tyro tensorboard safetensors
  git clone https://github.com/vwxyzjn/cleanrl && git -C cleanrl checkout fe8d8a03c41a7ef5b523e2e354bd01c363e786bb
  venv/bin/python make_policy_golden.py cleanrl

CleanRL's PPO scripts run as they are; the agent is taken from their variables when they are done. What their
NormalizeObservation wrapper (and SB3's VecNormalize) has learned is stored beside the weights, as obs_rms.mean,
obs_rms.var and obs_rms.count.
"""

import json
import os
import pathlib
import runpy
import sys
import tempfile

import gymnasium
import numpy as np
import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent.parent / "golden/policies"
EPISODES = 200


def with_statistics(state, rms):
    """State dict and running statistics of observations (None: the policy sees them as they are)."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in state.items()}
    if rms is not None:
        tensors["obs_rms.mean"] = torch.tensor(rms.mean, dtype=torch.float64)
        tensors["obs_rms.var"] = torch.tensor(rms.var, dtype=torch.float64)
        tensors["obs_rms.count"] = torch.tensor([float(rms.count)], dtype=torch.float64)
    return tensors


def normalizer(rms):
    if rms is None:
        return lambda o: o
    return lambda o: np.clip((o - rms.mean) / np.sqrt(rms.var + 1e-8), -10, 10)


def cleanrl(script, *flags):
    sys.argv = [str(script), "--no-cuda", *flags]
    return runpy.run_path(str(script), run_name="__main__")


def cleanrl_cartpole(folder):
    run = cleanrl(folder / "ppo.py", "--env-id", "CartPole-v1", "--total-timesteps", "20480")
    agent = run["agent"]
    return with_statistics(agent.state_dict(), None), lambda o: agent.actor(o).argmax(-1), None


def cleanrl_pendulum(folder):
    run = cleanrl(folder / "ppo_continuous_action.py", "--env-id", "Pendulum-v1", "--total-timesteps", "30720", "--num-steps", "1024", "--gamma", "0.9",
                  "--learning-rate", "1e-3")
    agent = run["agent"]
    env = run["envs"].envs[0]
    while not isinstance(env, gymnasium.wrappers.NormalizeObservation):
        env = env.env
    return with_statistics(agent.state_dict(), env.obs_rms), agent.actor_mean, env.obs_rms


def sb3(task, steps, normalize, **network):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    envs = make_vec_env(task, n_envs=4, seed=1)
    if normalize:
        envs = VecNormalize(envs)
    model = PPO("MlpPolicy", envs, seed=1, device="cpu", n_steps=256, gamma=0.9 if normalize else 0.99,
                learning_rate=1e-3, policy_kwargs=network)
    model.learn(steps)
    policy = model.policy
    rms = envs.obs_rms if normalize else None

    def act(o):
        return torch.as_tensor(policy._predict(o, deterministic=True))

    return with_statistics(policy.state_dict(), rms), act, rms


def play(task, act, rms):
    """Returns of whole deterministic episodes."""
    env = gymnasium.make(task)
    see, returns = normalizer(rms), []
    box = isinstance(env.action_space, gymnasium.spaces.Box)
    for episode in range(EPISODES):
        observation, _ = env.reset(seed=1000 + episode)
        total, done = 0.0, False
        while not done:
            with torch.no_grad():
                action = act(torch.tensor(see(observation), dtype=torch.float32)[None])[0].numpy()
            action = np.clip(action, env.action_space.low, env.action_space.high) if box else int(action)
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            done = terminated or truncated
        returns.append(total)
    return returns


def examples(task, act, rms):
    """Observations and the deterministic actions, before they are clipped."""
    env = gymnasium.make(task)
    scale = np.ones(env.observation_space.shape) if rms is None else np.sqrt(rms.var)
    observations = np.random.default_rng(3).normal(size=(16, *scale.shape)) * scale
    observations = observations.astype(np.float32)
    with torch.no_grad():
        actions = act(torch.tensor(normalizer(rms)(observations), dtype=torch.float32)).numpy()
    return {"observations": observations.tolist(), "actions": actions.reshape(len(observations), -1).tolist()}


def main():
    torch.set_num_threads(1)
    scripts = pathlib.Path(sys.argv[1]).resolve() / "cleanrl"
    os.chdir(tempfile.mkdtemp())  # CleanRL writes its runs here
    relu = torch.nn.ReLU
    makers = {
        "cleanrl_cartpole": ("CartPole-v1", "tanh", lambda: cleanrl_cartpole(scripts)),
        "cleanrl_pendulum": ("Pendulum-v1", "tanh", lambda: cleanrl_pendulum(scripts)),
        "sb3_cartpole": ("CartPole-v1", "relu", lambda: sb3(
            "CartPole-v1", 6144, False, activation_fn=relu, net_arch={"pi": [32, 32], "vf": [24]})),
        "sb3_pendulum": ("Pendulum-v1", "tanh", lambda: sb3("Pendulum-v1", 30720, True, net_arch=[32, 32])),
    }
    golden = {}
    for name, (task, activation, make) in makers.items():
        tensors, act, rms = make()
        save_file(tensors, HERE / f"{name}.safetensors")
        returns = play(task, act, rms)
        golden[name] = {
            "task": task,
            "activation": activation,
            "episodes": EPISODES,
            "return_mean": float(np.mean(returns)),
            "return_std": float(np.std(returns, ddof=1)),
            "examples": examples(task, act, rms),
        }
        print(name, golden[name]["return_mean"], golden[name]["return_std"], flush=True)
    (HERE / "policies.json").write_text(json.dumps(golden) + "\n")


main()
