"""Steps our own models with MuJoCo from the states of tests/golden/gymnasium_mujoco and compares with what is there.

python replay_golden.py ASSETS GOLDEN: shows that the goldens' inputs are complete, and that they belong to our models
and to the MuJoCo that is installed. Prints the tasks that differ; exit status 1 if any does.
"""

import json
import pathlib
import sys

import mujoco
import numpy as np
from safetensors import safe_open

MODELS = {
    "InvertedPendulum-v5": "inverted_pendulum",
    "InvertedDoublePendulum-v5": "inverted_double_pendulum",
    "Reacher-v5": "reacher",
    "Pusher-v5": "pusher",
    "Swimmer-v5": "swimmer",
    "Hopper-v5": "hopper",
    "HalfCheetah-v5": "half_cheetah",
    "Walker2d-v5": "walker2d",
    "Ant-v5": "ant",
    "Humanoid-v5": "humanoid",
    "HumanoidStandup-v5": "humanoid_standup",
}
TOLERANCE = 1e-9  # of the largest number of the row: sizes written with other roundings change the last bits


def differs(model, golden, frame_skip):
    """Number of rows whose step comes out otherwise."""
    data, wrong = mujoco.MjData(model), 0
    for i in range(len(golden["qpos"])):
        mujoco.mj_resetData(model, data)
        data.qpos, data.qvel, data.time = golden["qpos"][i], golden["qvel"][i], golden["time"][i]
        data.qacc_warmstart, data.ctrl = golden["qacc_warmstart"][i], golden["action"][i]
        mujoco.mj_step(model, data, nstep=frame_skip)
        ok = (data.ncon, data.nefc) == (golden["ncon"][i], golden["nefc"][i])
        for name in ("qpos", "qvel", "qacc_warmstart"):
            want = golden["next_" + name][i]
            ok &= np.abs(getattr(data, name) - want).max() <= TOLERANCE * max(1.0, np.abs(want).max())
        wrong += not ok
    return wrong


def main():
    assets, folder = map(pathlib.Path, sys.argv[1:3])
    assert {p.stem for p in folder.glob("*.safetensors")} == set(MODELS), "a task without a golden, or one too many"
    status = 0
    for task, name in MODELS.items():
        model = mujoco.MjModel.from_xml_path(str(assets / f"{name}.xml"))
        with safe_open(folder / f"{task}.safetensors", "np") as f:
            tensors, metadata = {k: f.get_tensor(k) for k in f.keys()}, f.metadata()
        sets = {"": int(metadata["frame_skip"])}
        for i, options in enumerate(json.loads(metadata["variants"])):
            sets[f"variant{i}/"] = options.get("frame_skip", sets[""])
        for prefix, frame_skip in sets.items():
            golden = {k[len(prefix):]: v for k, v in tensors.items() if k.startswith(prefix)}
            wrong = differs(model, golden, frame_skip)
            if wrong:
                print(f"{task} {prefix or 'main set'}: {wrong} of {len(golden['qpos'])} steps differ")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
