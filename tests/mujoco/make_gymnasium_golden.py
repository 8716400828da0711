#!/usr/bin/env python3
"""Single steps of Gymnasium's eleven MuJoCo v5 environments from given states, for comparison with another simulator.

    python3 tests/mujoco/make_gymnasium_golden.py RUNS [FOLDER [TASK...]]

Writes FOLDER/TASK.safetensors (default: tests/golden/gymnasium_mujoco, all tasks). RUNS/TASK is the run folder of a
policy: hotloop train TASK --run-dir RUNS/TASK. Needs gymnasium 1.4.0, mujoco 4.0.0 and safetensors
(tests/python/requirements.txt). States come from the rollouts of golden_states.py; every saved step is
done in a fresh mjData that gets exactly what is saved and is seen to equal the step in the rollout, bit for bit, so the
inputs below are complete. R rows; all numbers are float64 unless said otherwise.

Inputs, as of before the step:
    qpos [R, nq], qvel [R, nv]      the state; the root's quaternion is not of length 1 in the first state after a reset
    qacc_warmstart [R, nv]          what the solver starts from (after a reset: zero)
    time [R], elapsed [R] int64     simulated time; environment steps since the reset
    action [R, nu] float32          some are outside of the action space: MuJoCo clamps, the control cost does not
    stale_xy [R, 2]                 Ant: x and y of the main body's frame (xpos), Humanoid: of the mass centre (from
                                    xipos), both of the last forward evaluation before, from which the forward reward
                                    counts; other tasks: absent, they need nothing but the state
    trained [R] bool                a policy's rollout came here
Outputs of Gymnasium's step:
    observation [R, obs], reward [R], terminated [R] bool
    info/NAME [R] or [R, n]         every number of info, by its name: reward terms, positions, velocities, tendons
    next_qpos, next_qvel, next_qacc_warmstart, next_stale_xy    as above, after the step
    ncon, nefc, nlimit [R] int64    contacts, constraint rows and joint limit rows of the last forward evaluation
    sensitivity/qpos, qvel, observation, reward [R]             largest change of next_qpos and so on when qpos, qvel,
                                    qacc_warmstart and stale_xy are rounded to float32 first: no float32 simulator can
                                    be expected to be nearer
Observations after a reset, that is mj_resetData, then mj_forward from the given state (8 rows, the last 3 not of the
task's reset distribution):
    reset/qpos, reset/qvel, reset/observation, reset/qacc_warmstart
Other constructor options, 8 steps each, the same keys behind "variant0/", "variant1/" (without sensitivity). Of the
metadata "variants" is a JSON list of their options.
    action_low, action_high [nu] float32    the action space
Metadata beside it: task, policy_steps (environment steps that the policy was trained for), gymnasium, mujoco (versions), max_episode_steps, frame_skip, timestep.

Gymnasium is given the action as float64 with the value of the float32: with a float32 array it would add up the control
cost in float32, and terms would differ by its rounding (checked here to be less than 1e-6, relative).
"""

import json
import os
import pathlib
import sys
import tempfile

import gymnasium
import mujoco
import numpy as np
from safetensors.numpy import save_file

import golden_states
import trained_policy

ROWS, VARIANT_ROWS, RESET_ROWS, FOREIGN_RESETS = 48, 8, 8, 3
WALKING = {"exclude_current_positions_from_observation": False, "forward_reward_weight": 0.7}
VARIANTS = {
    "InvertedPendulum-v5": [{"frame_skip": 3}],
    "InvertedDoublePendulum-v5": [{"frame_skip": 3, "healthy_reward": 7.5}],
    "Reacher-v5": [{"frame_skip": 1, "reward_dist_weight": 2.0, "reward_control_weight": 0.3}],
    "Pusher-v5": [
        {"frame_skip": 2, "reward_near_weight": 0.2, "reward_dist_weight": 1.7, "reward_control_weight": 0.4},
    ],
    "Swimmer-v5": [WALKING | {"frame_skip": 2, "ctrl_cost_weight": 0.02}],
    "HalfCheetah-v5": [WALKING | {"frame_skip": 2, "ctrl_cost_weight": 0.4}],
    "Hopper-v5": [
        WALKING | {"ctrl_cost_weight": 0.05, "healthy_reward": 2.5, "terminate_when_unhealthy": False},
        {"frame_skip": 2, "healthy_state_range": [-3.0, 3.0], "healthy_z_range": [0.9, 1.24],
         "healthy_angle_range": [-0.05, 0.1]},
    ],
    "Walker2d-v5": [
        WALKING | {"ctrl_cost_weight": 0.05, "healthy_reward": 2.5, "terminate_when_unhealthy": False},
        {"frame_skip": 2, "healthy_z_range": [0.9, 1.24], "healthy_angle_range": [-0.3, 0.2]},
    ],
    "Ant-v5": [
        WALKING | {"include_cfrc_ext_in_observation": False, "terminate_when_unhealthy": False, "healthy_reward": 2.0,
                    "main_body": "aux_1"},
        {"frame_skip": 3, "ctrl_cost_weight": 0.2, "contact_cost_weight": 0.03, "contact_force_range": [-0.2, 0.5],
         "healthy_z_range": [0.3, 0.7], "main_body": 4},
    ],
    "Humanoid-v5": [
        WALKING | {"include_cinert_in_observation": False, "include_cvel_in_observation": False,
                    "include_qfrc_actuator_in_observation": False, "include_cfrc_ext_in_observation": False,
                    "terminate_when_unhealthy": False, "healthy_reward": 3.0},
        {"frame_skip": 3, "ctrl_cost_weight": 0.5, "contact_cost_weight": 1e-5, "contact_cost_range": [0.01, 0.5],
         "healthy_z_range": [1.1, 1.5], "include_cinert_in_observation": False,
         "include_qfrc_actuator_in_observation": False},
    ],
    "HumanoidStandup-v5": [
        {"exclude_current_positions_from_observation": False, "include_cinert_in_observation": False,
         "include_cvel_in_observation": False, "include_qfrc_actuator_in_observation": False,
         "include_cfrc_ext_in_observation": False, "uph_cost_weight": 2.0, "ctrl_cost_weight": 0.3},
        {"frame_skip": 3, "impact_cost_weight": 1e-5, "impact_cost_range": [0.01, 0.5],
         "include_cvel_in_observation": False, "include_cfrc_ext_in_observation": False},
    ],
}


def make(task, options):
    pairs = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    env = gymnasium.make(task, disable_env_checker=True, **pairs).unwrapped
    env.reset(seed=0)
    return env


def stale_xy(env):
    """What the next step's forward reward counts from, where that is not the state."""
    if "Ant" in type(env).__name__:
        return env.data.body(env._main_body).xpos[:2].copy()
    if type(env).__name__ == "HumanoidEnv":
        mass = env.model.body_mass
        return (mass @ env.data.xipos / mass.sum())[:2]
    return None


def put(env, state, stale=None):
    """Makes a fresh mjData hold `state`; the stale positions are the given x and y, where the task has any."""
    mujoco.mj_resetData(env.model, env.data)
    env.data.qpos, env.data.qvel, env.data.qacc_warmstart = state["qpos"], state["qvel"], state["qacc_warmstart"]
    env.data.time = state["time"]
    env.data.xpos, env.data.xipos = state["xpos"], state["xipos"]
    if stale is not None and "Ant" in type(env).__name__:
        env.data.body(env._main_body).xpos[:2] = stale
    elif stale is not None:
        env.data.xipos[:, :2] += stale - stale_xy(env)


def step(env, state, rounded=False):
    if rounded:
        state = state | {k: np.float64(np.float32(state[k])) for k in ("qpos", "qvel", "qacc_warmstart")}
    put(env, state)
    before = stale_xy(env)
    if rounded and before is not None:
        put(env, state, np.float64(np.float32(before)))
    observation, reward, terminated, _, info = env.step(state["action"].astype(np.float64))
    d = env.data
    row = {k: state[k] for k in ("qpos", "qvel", "qacc_warmstart", "time", "elapsed", "action")}
    row |= {"trained": state["kind"] == "policy"}
    row |= {"observation": observation, "reward": float(reward), "terminated": bool(terminated)}
    row |= {"info/" + k: np.float64(v) for k, v in info.items()}
    row |= {"next_qpos": d.qpos.copy(), "next_qvel": d.qvel.copy(), "next_qacc_warmstart": d.qacc_warmstart.copy()}
    limits = int((d.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum())
    row |= {"ncon": d.ncon, "nefc": d.nefc, "nlimit": limits}
    if before is not None:
        row |= {"stale_xy": before, "next_stale_xy": stale_xy(env)}
    return row


def check(env, state, row):
    """The rollout's step from this state gave the same bits, and float32 actions change no more than their rounding."""
    for name in ("qpos", "qvel", "qacc_warmstart"):
        assert np.array_equal(row["next_" + name], state["next_" + name]), name
    assert np.array_equal(row["observation"], state["observation"])
    put(env, state)
    observation, reward, terminated, _, _ = env.step(state["action"])
    assert np.array_equal(row["observation"], observation) and terminated == row["terminated"]
    assert reward == state["reward"]
    scale = max([1.0, abs(row["reward"])] + [np.abs(v).max() for k, v in row.items() if k.startswith("info/reward")])
    assert abs(row["reward"] - reward) <= 1e-6 * scale, (row["reward"], reward)


def table(rows):
    types = {"action": np.float32, "terminated": np.bool_, "trained": np.bool_}
    types |= dict.fromkeys(("elapsed", "ncon", "nefc", "nlimit"), np.int64)
    return {k: np.array([r[k] for r in rows], types.get(k, np.float64)) for k in rows[0]}


def steps(env, states):
    rows = []
    for state in states:
        row = step(env, state)
        check(env, state, row)
        moved = step(env, state, rounded=True)
        for name in ("qpos", "qvel"):
            row["sensitivity/" + name] = np.abs(moved["next_" + name] - row["next_" + name]).max()
        for name in ("observation", "reward"):
            row["sensitivity/" + name] = np.abs(moved[name] - row[name]).max()
        rows.append(row)
    return table(rows)


def resets(env, states):
    rows = []
    for i in range(RESET_ROWS):
        given = RESET_ROWS - FOREIGN_RESETS
        if i < given:
            observation, _ = env.reset(seed=100 + i)
        qpos, qvel = (env.data.qpos, env.data.qvel) if i < given else (states[i]["qpos"], states[i]["qvel"])
        qpos, qvel = qpos.copy(), qvel.copy()
        mujoco.mj_resetData(env.model, env.data)
        env.set_state(qpos, qvel)
        assert i >= given or np.array_equal(observation, env._get_obs())
        rows.append({"qpos": qpos, "qvel": qvel, "observation": env._get_obs(),
                     "qacc_warmstart": env.data.qacc_warmstart.copy()})
    return {"reset/" + k: v for k, v in table(rows).items()}


def variant(task, options, pool):
    """Of many steps with these options, eight that differ: terminated or not, by contacts and speed."""
    env = make(task, options)
    rows = [step(env, s) for s in pool]
    chosen = golden_states.spread([(r["terminated"], min(r["ncon"], 3), r["nlimit"] > 0) for r in rows], VARIANT_ROWS)
    return table([rows[i] for i in chosen])


def golden(task, runs, folder):
    env = make(task, {})
    policy = trained_policy.Policy(trained_policy.checkpoint(runs, task), env.action_space)
    states = golden_states.collect(env, task, policy)
    chosen = [states[i] for i in golden_states.select(env, states, ROWS)]
    result = steps(env, chosen) | resets(env, sorted(chosen, key=lambda s: -s["ncon"]))
    pool = [states[i] for i in golden_states.select(env, states, 5 * ROWS)]
    for i, options in enumerate(VARIANTS[task]):
        result |= {f"variant{i}/{k}": v for k, v in variant(task, options, pool).items()}
    result |= {"action_low": env.action_space.low, "action_high": env.action_space.high}
    save_file({k: np.ascontiguousarray(v) for k, v in result.items()}, folder / f"{task}.safetensors", metadata={
        "task": task, "policy_steps": str(policy.steps), "gymnasium": gymnasium.__version__, "mujoco": mujoco.__version__,
        "max_episode_steps": str(gymnasium.spec(task).max_episode_steps), "frame_skip": str(env.frame_skip),
        "timestep": str(env.model.opt.timestep), "variants": json.dumps(VARIANTS[task])})
    print(f"{task}: {len(states)} states; contacts {np.bincount(result['ncon']).tolist()}, of trained policies "
          f"{np.bincount(result['ncon'][result['trained']]).tolist()}, "
          f"{int((result['nlimit'] > 0).sum())} with limits, {int(result['terminated'].sum())} terminated, "
          f"sensitivity of qvel up to {result['sensitivity/qvel'].max():.2g}", flush=True)


def main():
    versions = gymnasium.__version__, mujoco.__version__
    assert versions == ("1.4.0", "4.0.0"), versions
    default = pathlib.Path(__file__).resolve().parent.parent / "golden" / "gymnasium_mujoco"
    if len(sys.argv) < 2:
        raise SystemExit("make_gymnasium_golden.py: name the folder that holds the tasks' run folders")
    runs = pathlib.Path(sys.argv[1]).resolve()
    folder = (pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else default).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(tempfile.mkdtemp())  # MuJoCo leaves a log of its warnings in the current folder
    for task in sys.argv[3:] or VARIANTS:
        golden(task, runs, folder)


if __name__ == "__main__":
    main()
