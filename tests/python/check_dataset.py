"""Opens datasets with their fields' own loaders and compares every value with the simulator's, bit for bit.

Usage: check_dataset.py (FORMAT PATH EXPECTED.safetensors TASK)...
Exit status 77 where a loader is not installed.

EXPECTED holds "<i>.observations" (T+1 rows), ".actions", ".rewards", ".terminated", ".truncated" of episode i, and
".terms.<name>" of tasks whose reward has terms.
For minari PATH is the folder of datasets, and its only dataset is checked.
"""
import importlib.util
import json
import os
import sys
import tempfile
import warnings

NEEDED = ["gymnasium", "h5py", "minari", "numpy", "robomimic", "safetensors", "tensordict", "torch", "torchrl"]
missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if missing:
    print("not installed:", ", ".join(missing))
    sys.exit(77)

import numpy as np
from safetensors.numpy import load_file

warnings.filterwarnings("ignore")


def same(name, got, want, dtype=None):
    got = np.asarray(got)
    assert got.dtype == (dtype or want.dtype), f"{name}: dtype {got.dtype}, expected {dtype or want.dtype}"
    assert got.shape == want.shape, f"{name}: shape {got.shape}, expected {want.shape}"
    assert got.astype(want.dtype).tobytes() == want.tobytes(), f"{name}: other values"


def episodes(expected):
    count = 1 + max(int(key.split(".")[0]) for key in expected)
    for i in range(count):
        yield i, {key: expected[f"{i}.{key}"] for key in ("observations", "actions", "rewards", "terminated", "truncated")}


def flat(expected, key, rows=slice(None)):
    return np.concatenate([e[key][rows] for _, e in episodes(expected)])


def terms(expected, i):
    """Those of episode i by their names, each [T]."""
    prefix = f"{i}.terms."
    return {key.removeprefix(prefix): value for key, value in expected.items() if key.startswith(prefix)}


def flat_terms(expected):
    return {name: np.concatenate([terms(expected, i)[name] for i, _ in episodes(expected)]) for name in terms(expected, 0)}


def check_minari(path, expected, task):
    os.environ["MINARI_DATASETS_PATH"] = path
    import gymnasium
    import minari

    (dataset_id,) = minari.list_local_datasets()
    dataset = minari.load_dataset(dataset_id)
    wanted = list(episodes(expected))
    assert dataset.total_episodes == len(dataset) == len(wanted)
    assert dataset.total_steps == sum(len(e["rewards"]) for _, e in wanted)
    seen = 0
    for (i, e), got in zip(wanted, dataset.iterate_episodes()):
        assert got.id == i
        same("observations", got.observations, e["observations"])
        same("actions", got.actions, e["actions"].squeeze(1) if e["actions"].dtype == np.int64 else e["actions"])
        same("rewards", got.rewards, e["rewards"], np.float64)
        same("terminations", got.terminations, e["terminated"].astype(bool))
        same("truncations", got.truncations, e["truncated"].astype(bool))
        assert set(got.infos) == set(terms(expected, i))
        for name, want in terms(expected, i).items():  # row 0 is of the reset, row t + 1 of step t
            same(name, got.infos[name], np.concatenate([[np.float32(0)], want]), np.float64)
        if got.infos:  # the tasks of the tests name all that they pay
            paid = sum(got.infos.values())[1:]
            assert np.allclose(paid, got.rewards, rtol=1e-5, atol=1e-5), "infos: do not sum to the reward"
        assert dataset.observation_space.contains(got.observations[0]) and dataset.action_space.contains(got.actions[0])
        repr(got)
        seen += 1
    assert seen == len(wanted)
    for got, metadata in zip(dataset.iterate_episodes(), dataset.storage.get_episode_metadata(range(seen))):
        assert np.isclose(metadata["rewards_sum"], got.rewards.sum())
    assert len(list(dataset.sample_episodes(seen))) == seen
    env = dataset.recover_environment()
    assert env.spec.id == task and env.spec.max_episode_steps == gymnasium.spec(task).max_episode_steps
    assert env.action_space == dataset.action_space and env.observation_space.shape == dataset.observation_space.shape
    env.reset(seed=0)
    info = env.step(dataset.action_space.sample())[-1]
    assert set(terms(expected, 0)) <= set(info)
    assert len(dataset.filter_episodes(lambda e: len(e.rewards) > 0)) == seen
    check_torchrl_minari(dataset_id, expected, seen)


def check_torchrl_minari(dataset_id, expected, count):
    if count == 1:
        return  # torchrl 0.14 takes max(*episodes), which fails for a single one whoever wrote it
    from torchrl.data.datasets import MinariExperienceReplay

    with tempfile.TemporaryDirectory() as root:
        replay = MinariExperienceReplay(dataset_id, load_from_local_minari=True, batch_size=4, root=root)
        # torchrl 0.11 to 0.14 read every value, then keep memmap_like() of them, which are zeros whoever wrote the file:
        # names, types and the number of steps are all that is left to compare
        data = replay[:]
        steps = len(flat(expected, "rewards"))
        assert data["observation"].shape == data["next", "observation"].shape == flat(expected, "observations", slice(0, -1)).shape
        assert data["observation"].numpy().dtype == np.float32 and len(data["action"]) == steps
        assert {"reward", "terminated", "truncated", "done"} <= set(data["next"].keys())
        for name in terms(expected, 0):
            assert data["info", name].shape == data["next", "info", name].shape == (steps,)
        assert len(replay.sample()) == 4


def qlearning(data):
    """What d4rl.qlearning_dataset makes of a flat file: it knows the next row only, and so drops the last of a timeout."""
    rows, step = [], 0
    for i in range(len(data["rewards"]) - 1):
        if data["timeouts"][i]:
            step = 0
            continue
        rows.append((i, bool(data["terminals"][i])))
        step = 0 if data["terminals"][i] else step + 1
    return rows


def check_d4rl(path, expected, task):
    import h5py

    data = {}
    with h5py.File(path, "r") as file:  # as d4rl's get_dataset: every dataset whole
        file.visititems(lambda name, item: data.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        assert json.loads(file.attrs["hotloop"])["task"] == task
    discrete = data["actions"].dtype == np.int64
    same("observations", data["observations"], flat(expected, "observations", slice(0, -1)))
    same("next_observations", data["next_observations"], flat(expected, "observations", slice(1, None)))
    same("actions", data["actions"], flat(expected, "actions").squeeze(1) if discrete else flat(expected, "actions"))
    same("rewards", data["rewards"], flat(expected, "rewards"))
    same("terminals", data["terminals"], flat(expected, "terminated").astype(bool))
    assert {key for key in data if key.startswith("infos/")} == {f"infos/{name}" for name in terms(expected, 0)}
    for name, want in flat_terms(expected).items():
        same(name, data[f"infos/{name}"], want)
    ends = np.cumsum([len(e["rewards"]) for _, e in episodes(expected)]) - 1
    assert np.array_equal(np.flatnonzero(data["terminals"] | data["timeouts"]), ends)
    assert not np.any(data["terminals"] & data["timeouts"])
    for i, terminal in qlearning(data):  # the transitions that learners see are transitions of one episode
        if not terminal:
            assert data["observations"][i + 1].tobytes() == data["next_observations"][i].tobytes()


def check_robomimic(path, expected, task):
    import h5py
    from robomimic.utils.dataset import SequenceDataset
    import robomimic.utils.obs_utils as obs_utils

    wanted = list(episodes(expected))
    with h5py.File(path, "r") as file:
        env_args = json.loads(file["data"].attrs["env_args"])
        assert env_args["env_name"] == task and env_args["type"] == 2 and env_args["env_kwargs"] == {}
        assert file["data"].attrs["total"] == sum(len(e["rewards"]) for _, e in wanted)
        names = [name.decode() for key in ("train", "valid") for name in file["mask"][key][()]]
        assert sorted(names) == sorted(f"demo_{i}" for i, _ in wanted)
        assert "reward_terms" not in json.loads(file["data"].attrs["hotloop"])
    obs_utils.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": ["flat"], "rgb": []}})
    dataset = SequenceDataset(hdf5_path=path, obs_keys=["flat"], dataset_keys=["actions", "rewards", "dones"],
                              load_next_obs=True, hdf5_cache_mode="all", seq_length=1)
    assert len(dataset) == sum(len(e["rewards"]) for _, e in wanted)
    row = 0
    for _, e in wanted:
        for t in range(len(e["rewards"])):
            item = dataset[row]
            same("obs", item["obs"]["flat"][0], e["observations"][t])
            same("next_obs", item["next_obs"]["flat"][0], e["observations"][t + 1])
            # the loader makes everything float32
            same("actions", item["actions"][0], e["actions"][t].astype(np.float32))
            same("rewards", item["rewards"][0], e["rewards"][t])
            assert item["dones"][0] == e["terminated"][t]
            row += 1


def check_tensordict(path, expected, task):
    import torch
    from tensordict import TensorDict
    from torchrl.data import LazyMemmapStorage, ReplayBuffer, TensorStorage

    data = TensorDict.load_memmap(path)
    steps = len(flat(expected, "rewards"))
    assert data.batch_size == torch.Size([steps])
    discrete = data["action"].dtype == torch.int64
    want_action = flat(expected, "actions").squeeze(1) if discrete else flat(expected, "actions")
    same("observation", data["observation"], flat(expected, "observations", slice(0, -1)))
    same("next observation", data["next", "observation"], flat(expected, "observations", slice(1, None)))
    same("action", data["action"], want_action)
    same("reward", data["next", "reward"].squeeze(-1), flat(expected, "rewards"))
    terminated, truncated = (flat(expected, key).astype(bool) for key in ("terminated", "truncated"))
    same("terminated", data["next", "terminated"].squeeze(-1), terminated)
    same("truncated", data["next", "truncated"].squeeze(-1), truncated)
    same("done", data["next", "done"].squeeze(-1), terminated | truncated)
    assert ("reward_terms" in data["next"].keys()) == bool(terms(expected, 0))
    for name, want in flat_terms(expected).items():
        same(name, data["next", "reward_terms", name].squeeze(-1), want)
    ids = np.concatenate([np.full(len(e["rewards"]), i) for i, e in episodes(expected)])
    same("episode", data["episode"], ids)
    buffer = ReplayBuffer(storage=TensorStorage(data), batch_size=8)
    assert buffer.sample()["next", "reward"].shape == (8, 1)
    with tempfile.TemporaryDirectory() as folder:
        buffer = ReplayBuffer(storage=LazyMemmapStorage(steps, scratch_dir=folder), batch_size=8)
        buffer.extend(data)
        same("replayed", buffer[:]["observation"], flat(expected, "observations", slice(0, -1)))
        del buffer


CHECKS = {"minari": check_minari, "d4rl": check_d4rl, "robomimic": check_robomimic, "tensordict": check_tensordict}
for format_name, dataset_path, expected_path, task_name in zip(*[iter(sys.argv[1:])] * 4):
    print(format_name, task_name, flush=True)
    CHECKS[format_name](dataset_path, load_file(expected_path), task_name)
