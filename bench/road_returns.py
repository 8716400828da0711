#!/usr/bin/env python3
"""Whether the roads and precisions learn the same: trains a task with many seeds on each, and compares the final returns
(of 100 deterministic episodes) with those of the generic road in fp32.

    bench/road_returns.py [--task CartPole-v1] [--seeds 20] [--parallel 4] [--device cuda] [--key value ...]

What is not known here goes to every training. Appends to road_returns.csv in the folder --results and prints the
interquartile means, their difference to the reference, and its 90 % bootstrap interval (2000 resamples of the seeds).
HOTLOOP names the program (default ./hotloop).
"""

import argparse
import concurrent.futures
import csv
import datetime
import os
import pathlib
import random
import subprocess
import tempfile

VARIANTS = [("generic", "fp32"), ("fused", "fp32"), ("fused", "fp16"), ("fused", "bf16")]
COLUMNS = ["date", "commit", "device", "task", "flags", "road", "precision", "seed", "return_mean"]


def final_return(program, options, folder, variant, seed, flags):
    road, precision = variant
    run = folder / f"{road}.{precision}.{seed}"
    subprocess.run([program, "train", options.task, "--device", options.device, "--road", road, "--precision", precision,
                    "--seed", str(seed), "--run-dir", str(run), "--quiet", *flags], check=True)
    with open(run / "metrics.csv", newline="") as file:
        return float([r for r in csv.DictReader(file) if r["eval/episodic_return"]][-1]["eval/episodic_return"])


def interquartile_mean(values):
    """The mean of the middle half; where a quarter is no whole number of values, those at its ends count in part."""
    ordered, cut = sorted(values), len(values) / 4
    weights = [min(1.0, max(0.0, min(i + 1, len(values) - cut) - max(i, cut))) for i in range(len(values))]
    return sum(w * v for w, v in zip(weights, ordered)) / sum(weights)


def interval(ours, reference, share=0.9, resamples=2000):
    """Percentile bootstrap of the difference of interquartile means."""
    draw = random.Random(0)
    differences = sorted(interquartile_mean(draw.choices(ours, k=len(ours))) -
                         interquartile_mean(draw.choices(reference, k=len(reference))) for _ in range(resamples))
    tail = (1 - share) / 2
    return differences[int(tail * resamples)], differences[int((1 - tail) * resamples) - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--task", default="CartPole-v1")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", default="bench/results")
    options, flags = parser.parse_known_args()
    program = os.environ.get("HOTLOOP", "./hotloop")
    commit = os.environ.get("HOTLOOP_COMMIT") or subprocess.run(["git", "rev-parse", "--short", "HEAD"], text=True,
                                                                capture_output=True).stdout.strip()
    returns = {variant: {} for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        waiting = {pool.submit(final_return, program, options, pathlib.Path(folder), variant, seed, flags): (variant, seed)
                   for seed in range(1, options.seeds + 1) for variant in VARIANTS}
        for future in concurrent.futures.as_completed(waiting):
            variant, seed = waiting[future]
            returns[variant][seed] = future.result()

    path = pathlib.Path(options.results) / "road_returns.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for (road, precision), of_seed in returns.items():
            for seed, value in sorted(of_seed.items()):
                writer.writerow([datetime.date.today(), commit, options.device, options.task, " ".join(flags), road,
                                 precision, seed, f"{value:.2f}"])

    reference = list(returns[VARIANTS[0]].values())
    base = interquartile_mean(reference)
    print(f"{options.task} {VARIANTS[0][0]} {VARIANTS[0][1]}: {base:.2f}")
    for variant in VARIANTS[1:]:
        ours = list(returns[variant].values())
        low, high = interval(ours, reference)
        print(f"{options.task} {variant[0]} {variant[1]}: {interquartile_mean(ours):.2f}, difference "
              f"{interquartile_mean(ours) - base:+.2f}, 90 % interval {low:+.2f} to {high:+.2f} "
              f"({100 * low / abs(base):+.1f} to {100 * high / abs(base):+.1f} %)")


if __name__ == "__main__":
    main()
