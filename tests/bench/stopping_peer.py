#!/usr/bin/python3 -B
"""A sampler of Optuna (Debian: python3-optuna) with a pruner on a table of learning curves, as stopping_curves races.
  stopping_peer.py SAMPLER+PRUNER REPETITIONS:FIRST FILE COLUMNS maximize|minimize
SAMPLER  tpe or random;  PRUNER  none, median, halving or hyperband (which is told the last epoch); all with their defaults
Writes a line for each seed: epochs spent and the value seen (larger is better), wherever that is better than before.
A proposal stands for the nearest row that was not tried, by Euclid in the unit cube, logarithmic where stopping_curves is:
that row's own point is what the trial has, so that the sampler learns of no point that was not measured."""
import csv
import sys
import warnings

import numpy as np
import optuna
from optuna.distributions import FloatDistribution

RACE = 25  # whole trainings

warnings.simplefilter("ignore")  # of what is experimental in Optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler, pruner = sys.argv[1].split("+")
repetitions, first = map(int, sys.argv[2].split(":"))
with open(sys.argv[3], newline="", encoding="utf-8") as file:
    head, *rows = csv.reader(file)
columns = list(map(int, sys.argv[4].split(",")))
begin = next(k for k, name in enumerate(head) if k > 0 and name[0] == "e" and name[1:].isdigit())
points = np.array([[float(row[j]) for j in columns] for row in rows])
points = points[:, points.min(0) < points.max(0)]  # TPE takes no range of one value
values = np.array([list(map(float, row[begin:])) for row in rows])
epochs = values.shape[1]
low, high = points.min(0), points.max(0)
is_log = (low > 0) & (high > 10 * low)
space = {f"x{j}": FloatDistribution(low[j], high[j], log=bool(is_log[j])) for j in range(len(low))}


def encode(x):
    with np.errstate(all="ignore"):
        return np.where(is_log, np.log(x / low) / np.log(high / low), (x - low) / (high - low))


class Rows(optuna.samplers.BaseSampler):
    """Proposes rows: those next to what another sampler would propose, parameter by parameter as both do by default."""

    def __init__(self, seed):
        kinds = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
        self.inner = kinds[sampler](seed=seed)
        self.left, self.row = np.ones(len(points), bool), None

    def infer_relative_search_space(self, study, trial):
        return space

    def sample_relative(self, study, trial, search_space):
        wanted = [self.inner.sample_independent(study, trial, *item) for item in search_space.items()]
        distances = ((encode(points) - encode(np.array(wanted))) ** 2).sum(1)
        self.row = int(np.argmin(np.where(self.left, distances, np.inf)))
        self.left[self.row] = False
        return dict(zip(search_space, map(float, points[self.row])))

    def sample_independent(self, study, trial, param_name, param_distribution):
        raise NotImplementedError


def prune():
    return {"none": optuna.pruners.NopPruner, "median": optuna.pruners.MedianPruner,
            "halving": optuna.pruners.SuccessiveHalvingPruner,
            "hyperband": lambda: optuna.pruners.HyperbandPruner(max_resource=epochs)}[pruner]()


def search(seed):
    rows_left, spent, seen, path = Rows(seed), 0, -np.inf, []
    study = optuna.create_study(sampler=rows_left, pruner=prune(), direction=sys.argv[5], study_name=str(seed))
    while spent < RACE * epochs and rows_left.left.any():
        trial = study.ask(space)
        for step, value in enumerate(map(float, values[rows_left.row]), 1):
            spent, signed = spent + 1, value if sys.argv[5] == "maximize" else -value
            if signed > seen:
                seen = signed
                path += [str(spent), repr(seen)]
            trial.report(value, step)
            if step < epochs and trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, value)
    print(*path, flush=True)


for repetition in range(repetitions):
    search(first + repetition)
