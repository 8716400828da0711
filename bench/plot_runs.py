#!/usr/bin/env python3
"""Draws learning curves from run folders: one panel a task and column, the runs' median over a band from worst to best.

    RUNS=runs/curves bench/learning.sh cpu 4
    bench/plot_runs.py -o docs/learning.png runs/curves/*

Any other runs do as well; a smaller --eval-interval gives finer curves and changes nothing in the training. Needs
matplotlib and numpy.
"""
import argparse
import csv
import pathlib
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

INK, MUTED, GRID = "#1f2933", "#6b7785", "#e6eaee"
COLORS = ["#0b6e99", "#c4501b", "#2e7d4f", "#7b4ea3", "#a8741a", "#a63a5b"]
TITLES = {
    "eval/episodic_return": "evaluation return",
    "charts/episodic_return": "return while training",
    "losses/entropy": "entropy of the policy",
    "losses/explained_variance": "explained variance",
}
# what `hotloop list` says
SOLVED = {"CartPole-v1": 475, "MountainCar-v0": -110, "MountainCarContinuous-v0": 90, "Acrobot-v1": -100}


def task_of(run):
    return re.search(r'^task = "(.*?)"', (run / "config.toml").read_text(), re.M).group(1)


def series(run, column):
    with open(run / "metrics.csv", newline="") as file:
        points = [(float(row["global_step"]), float(row[column])) for row in csv.DictReader(file) if row[column]]
    if not points:
        raise SystemExit(f"{run}: no values of {column}")
    return np.array(points).T


def smoothed(values, width):
    """Mean over a centred window that narrows toward both ends."""
    if width <= 1:
        return values
    sums = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(len(values))
    half = np.minimum(np.minimum(index, len(values) - 1 - index), width // 2)
    return (sums[index + half + 1] - sums[index - half]) / (2 * half + 1)


def step_text(value, _=None):
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k" if value else "0"


def draw_panel(axes, task, column, runs, color):
    curves = [series(run, column) for run in runs]
    width = 1 if column.startswith("eval/") else max(1, max(len(x) for x, _ in curves) // 40)
    curves = [(x, smoothed(y, width)) for x, y in curves]
    for x, y in curves:
        axes.plot(x, y, color=color, linewidth=0.7, alpha=0.35)
    steps = curves[0][0]
    steps = steps[steps <= min(x[-1] for x, _ in curves)]  # runs may have been stopped at different times
    values = np.array([np.interp(steps, x, y) for x, y in curves])
    axes.fill_between(steps, values.min(axis=0), values.max(axis=0), color=color, alpha=0.14, linewidth=0)
    axes.plot(steps, np.median(values, axis=0), color=color, linewidth=2.0)
    if column.endswith("episodic_return") and task in SOLVED:
        axes.axhline(SOLVED[task], color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        axes.annotate(f"solved at {SOLVED[task]}", (1, SOLVED[task]), xycoords=("axes fraction", "data"), fontsize=8,
                      xytext=(-4, -4), textcoords="offset points", ha="right", va="top", color=MUTED)
    axes.set_title(task, loc="left", fontsize=11, fontweight="bold", color=INK, pad=20)
    axes.text(0, 1.035, f"{TITLES.get(column, column)}, {len(runs)} seed{'s' if len(runs) > 1 else ''}", transform=axes.transAxes, fontsize=9,
              color=MUTED)
    axes.set_xlim(0, max(x[-1] for x, _ in curves))
    axes.margins(y=0.06)
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(step_text)
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    axes.tick_params(colors=MUTED, labelsize=8.5, length=0)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, metavar="FILE.png")
    parser.add_argument("--columns", nargs="+", default=["eval/episodic_return"], metavar="NAME",
                        help="columns of metrics.csv (default: eval/episodic_return)")
    arguments = parser.parse_args()
    tasks = {}
    for run in arguments.runs:
        tasks.setdefault(task_of(run), []).append(run)
    panels = [(task, column) for task in tasks for column in arguments.columns]
    across = min(3, len(panels)) if len(arguments.columns) == 1 else len(arguments.columns)
    down = -(-len(panels) // across)
    plt.rcParams["font.family"] = ["DejaVu Sans"]
    figure, grid = plt.subplots(down, across, figsize=(10.5 if across > 1 else 5.5, 2.75 * down), squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    for k, (task, column) in enumerate(panels):
        draw_panel(grid.flat[k], task, column, tasks[task], COLORS[k % len(COLORS)])
        if k + across >= len(panels):
            grid.flat[k].set_xlabel("environment steps", fontsize=9, color=MUTED)
    figure.tight_layout(w_pad=2.0, h_pad=1.5)
    figure.savefig(arguments.output, dpi=140, facecolor="white")


if __name__ == "__main__":
    main()
