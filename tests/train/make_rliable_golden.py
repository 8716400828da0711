#!/usr/bin/env python3
"""Writes tests/golden/rliable.json: scores, and what rliable makes of them.

  python3 -m venv venv && venv/bin/pip install rliable==1.2.0 'pandas<3' && venv/bin/python make_rliable_golden.py

Its resamples are recorded as well, so that intervals can be compared exactly; `many` are intervals of 10000 resamples.
"""

import json
import pathlib

import numpy as np
from rliable import library, metrics

RESAMPLES = 200
TAUS = [-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5]
choice = np.random.choice
drawn = []


def recording_choice(*arguments, **keywords):
    drawn.append(choice(*arguments, **keywords))
    return drawn[-1]


def aggregates(scores):
    return np.array([metrics.aggregate_iqm(scores), metrics.aggregate_mean(scores), metrics.aggregate_median(scores)])


def profile(scores):
    return library.score_distributions(scores, TAUS)


def improvement(x, y):
    return np.array([metrics.probability_of_improvement(x, y)])


def estimates(samples, function):
    """Values, intervals from recorded resamples, and from many more."""
    drawn.clear()
    np.random.seed(len(samples) if isinstance(samples, list) else 0)
    values, intervals = library.get_interval_estimates({"": samples}, function, reps=RESAMPLES)
    indices = [d.tolist() for d in drawn]
    drawn.clear()
    _, many = library.get_interval_estimates({"": samples}, function, reps=10000)
    return {"values": values[""].tolist(), "intervals": intervals[""].tolist(), "indices": indices,
            "many": many[""].tolist()}


def main():
    rng = np.random.RandomState(7)
    x = np.round(rng.normal(0.4, 0.5, size=(6, 4)), 3)  # [runs, tasks]
    y = np.round(rng.normal(0.7, 0.4, size=(5, 4)), 3)
    x[2, 1], x[3, 2] = y[1, 1], y[0, 2]  # ties
    np.random.choice = recording_choice
    golden = {
        "x": x.tolist(),
        "y": y.tolist(),
        "taus": TAUS,
        "aggregates": estimates(x, aggregates),
        "profile": estimates(x, profile),
        "improvement": estimates([x, y], improvement),
    }
    path = pathlib.Path(__file__).resolve().parent.parent / "golden/rliable.json"
    path.write_text(json.dumps(golden) + "\n")


main()
