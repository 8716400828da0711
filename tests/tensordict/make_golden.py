"""Writes tests/golden/tensordict with Python's tensordict: python make_golden.py [folder]

operations.h5  results of operations on one input, keys joined by dots: "<operation>.td.<leaf>", "<operation>.batch"
types/         TensorDict.memmap of every element type, nested levels, empty and scalar leaves
types.h5       the same without bfloat16, which tensordict refuses in HDF5
"""

import pathlib
import shutil
import sys

import tensordict
import torch
from tensordict import TensorDict

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def make_input():
    return TensorDict(
        {
            "a": torch.arange(6.0).reshape(2, 3),
            "n": TensorDict(
                {
                    "b": torch.arange(24).reshape(2, 3, 4),
                    "m": TensorDict({"c": torch.arange(12, dtype=torch.float64).reshape(2, 3, 2) - 5}, [2, 3, 2]),
                },
                [2, 3],
            ),
        },
        [2, 3],
    )


def operations(td):
    mask = torch.tensor([[True, False, True], [False, True, True]])
    row_mask = torch.tensor([False, True])
    other = td.apply(lambda x: x * 2 + 1)
    real = td.apply(lambda x: x.double() + 7)
    more = real.apply(lambda x: x * 0.5 - 1)
    index = torch.tensor([[2, 0], [1, 1]])
    part = TensorDict({"a": torch.full((3,), 9.0), "n": {"b": torch.full((3, 4), -1)}}, [3])

    def changed(f):
        copy = td.clone()
        f(copy)
        return copy

    def padded(*size):
        return tensordict.pad(td, list(size), value=-3)

    return {
        "index_int": td[1],
        "index_slice": td[:, 1:],
        "index_step": td[..., ::2],
        "index_none": td[None, 0],
        "index_ellipsis": td[..., -1],
        "index_mask": td[mask],
        "index_row_mask": td[row_mask],
        "index_tensor": td[torch.tensor([1, 0, 1])],
        "index_two_tensors": td[torch.tensor([1, 0]), torch.tensor([2, 2])],
        "index_put": changed(lambda c: c.__setitem__(0, part)),
        "index_put_scalar": changed(lambda c: c.__setitem__((slice(None), 1), 5)),
        "set_at": changed(lambda c: c.set_at_("a", torch.full((3,), 4.0), 1)),
        "view": td.view(6),
        "view_infer": td.view(3, -1),
        "reshape": td.permute(1, 0).reshape(-1),
        "flatten": td.flatten(0, 1),
        "unflatten": td.unflatten(1, (3, 1)),
        "permute": td.permute(1, 0),
        "transpose": td.transpose(-1, 0),
        "unsqueeze": td.unsqueeze(-1),
        "unsqueeze_first": td.unsqueeze(0),
        "squeeze": td.unsqueeze(1).squeeze(1),
        "squeeze_all": td.unsqueeze(0).unsqueeze(-1).squeeze(),
        "expand": td.expand(2, 2, 3),
        "stack": torch.stack([td, other], 1),
        "stack_last": torch.stack([td, other], -1),
        "cat": torch.cat([td, other, td], 1),
        "split_first": td.split(2, 1)[0],
        "split_last": td.split(2, 1)[1],
        "split_sizes": td.split([1, 2], 1)[1],
        "chunk": td.chunk(2, 1)[1],
        "unbind": td.unbind(1)[2],
        "gather": td.gather(dim=1, index=index),
        "select": td.select(("n", "b")),
        "exclude": td.exclude(("n", "b"), "missing"),
        "split_keys": td.split_keys(["a"])[1],
        "masked_select": td.masked_select(mask),
        "masked_fill": td.masked_fill(row_mask, -2),
        "where": td.where(mask, other),
        "where_scalar": td.where(mask, torch.tensor(0)),
        "where_pad": td.where(mask, td.select("a"), pad=8),
        "pad": padded(1, 0, 0, 2),
        "pad_first": padded(0, 1),
        "zeros_like": torch.zeros_like(td),
        "ones_like": torch.ones_like(td),
        "fill_nested": changed(lambda c: c.fill_("n", 3)),
        "zero": changed(lambda c: c.zero_()),
        "flatten_keys": td.flatten_keys("_").clone(),
        "rename_key": changed(lambda c: c.rename_key_("a", ("n", "a"))),
        "update": td.clone().update({"n": {"new": torch.ones(2, 3)}, "a": torch.zeros(2, 3, 1)}),
        "replace": td.replace({"a": torch.zeros(2, 3)}),
        "apply_sum": td.apply(lambda x: x.sum(1), batch_size=[2]),
        "apply_drop": td.apply(lambda x: None if x.dtype == torch.int64 else x),
        "to_half": td.to(torch.float16),
        "all": td.all(dim=0),
        "any": td.any(dim=1),
        "isfinite": td.isfinite(),
        "isnan": real.sub(20).sqrt().isnan(),
        "add": td.add(other, alpha=3),
        "add_scalar": td + 2,
        "sub": td.sub(other, alpha=2),
        "sub_scalar": td - 1,
        "mul": td * other,
        "mul_scalar": td * 3,
        "div": real / more,
        "div_scalar": real / 4,
        "addcmul": real.addcmul(more, real, value=0.5),
        "addcdiv": real.addcdiv(more, real, value=2),
        "lerp": real.lerp(more, 0.25),
        "clamp": td.clamp(1, 3),
        "sqrt": real.sqrt(),
        "neg": td.neg(),
        "abs": td.abs(),
        "norm": real.norm(),
    }


def every_type():
    values = torch.tensor([[0, 1, 2], [3, 100, 127]])
    td = TensorDict({}, [2])
    for name in TYPES:
        kind = getattr(torch, name)
        td[name] = values.to(kind) if not kind.is_floating_point else (values * 1.5 - 20).to(kind)
    td["nested"] = TensorDict({"deep": {"leaf": torch.arange(8).reshape(2, 4)}, "empty": {}}, [2])
    td["nested", "wider"] = TensorDict({"x": torch.ones(2, 5, 2)}, [2, 5])
    td["no_elements"] = torch.zeros(2, 0, 3)
    td["a key: with/odd %signs".replace("/", "_")] = torch.tensor([1.5, -1.5])
    return td


def main():
    here = pathlib.Path(__file__).resolve().parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "golden" / "tensordict"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    results = TensorDict({"input.td": make_input().flatten_keys(".")}, [])
    for name, result in operations(make_input()).items():
        batch = torch.tensor(list(result.batch_size), dtype=torch.int64)
        results[name] = TensorDict({"td": TensorDict(result.to_tensordict(), []), "batch": batch}, [])
    results.flatten_keys(".").to_h5(folder / "operations.h5").close()

    td = every_type()
    td.memmap(folder / "types", num_threads=0)
    td.exclude("bfloat16").to_h5(folder / "types.h5").close()
    TensorDict({"scalar": torch.tensor(2.5), "n": {"flag": torch.tensor(True)}}, []).memmap(
        folder / "scalars", num_threads=0
    )
    TensorDict({"x": torch.zeros(0, 3)}, [0]).memmap(folder / "empty_batch", num_threads=0)


if __name__ == "__main__":
    main()
