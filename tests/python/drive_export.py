"""Drives Gymnasium's own environments with an exported policy: drive_export.py TASK POLICY.onnx EPISODES

Prints mean and standard deviation of the returns as a JSON object.
"""
import json
import sys

import gymnasium
import numpy as np
import onnxruntime


def main(task, policy, episodes):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(policy, options, providers=["CPUExecutionProvider"])
    env = gymnasium.make(task)
    returns = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=1000 + episode)
        total, done = 0.0, False
        while not done:
            action = session.run(["action"], {"observation": observation[None].astype(np.float32)})[0][0]
            assert env.action_space.contains(action), f"{action!r} is not in {env.action_space}"
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            done = terminated or truncated
        returns.append(total)
    print(json.dumps({"mean": float(np.mean(returns)), "std": float(np.std(returns))}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
