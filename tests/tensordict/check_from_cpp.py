"""Loads what C++ wrote and compares it with what C++ says it wrote.

python check_from_cpp.py FOLDER: FOLDER holds memmap/ and file.h5, and expected.json with, for "memmap" and "h5", the
batch sizes of all levels and dtype, shape and flat values of all leaves, by key joined by '/'.
"""

import json
import pathlib
import sys

import torch
from tensordict import TensorDict


def levels(td, prefix=""):
    yield prefix, list(td.batch_size)
    for key in td.keys():
        if isinstance(td.get(key), torch.Tensor):
            continue
        yield from levels(td.get(key), f"{prefix}{key}/")


def compare(td, expected, with_batch):
    wrong = []
    leaves = {("/".join(k) if isinstance(k, tuple) else k): td.get(k) for k in td.keys(True, True)}
    if set(leaves) != set(expected["leaves"]):
        wrong.append(f"keys {sorted(leaves)} instead of {sorted(expected['leaves'])}")
    for key, want in expected["leaves"].items():
        have = leaves.get(key)
        if have is None:
            continue
        values = have.flatten().tolist()
        if (str(have.dtype), list(have.shape), values) != (want["dtype"], want["shape"], want["values"]):
            wrong.append(f"{key}: {have.dtype} {list(have.shape)} {values} instead of {want}")
    found = dict(levels(td))
    if set(found) != set(expected["batch"]) or (with_batch and found != expected["batch"]):
        wrong.append(f"batch sizes {found} instead of {expected['batch']}")
    return wrong


def main():
    folder = pathlib.Path(sys.argv[1])
    expected = json.loads((folder / "expected.json").read_text())
    wrong = ["memmap " + w for w in compare(TensorDict.load_memmap(folder / "memmap"), expected["memmap"], True)]
    h5 = TensorDict.from_h5(folder / "file.h5")
    wrong += ["h5 " + w for w in compare(h5, expected["h5"], False)]  # HDF5 files of Python carry no batch sizes
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
