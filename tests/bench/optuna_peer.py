#!/usr/bin/python3 -B
"""A sampler of Optuna (Debian: python3-optuna) by ask and tell: prints a point a line and reads its values, all of which
are to be maximised.
  optuna_peer.py SAMPLER SEED OBJECTIVES TRIALS PARAMETER...
SAMPLER   nsga2-POPULATION, tpe, tpe-joint (multivariate) or motpe
PARAMETER 0: a number in [0, 1]; n > 0: a whole number below n; -n: one of n unordered choices, by number"""
import sys
import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import MOTPESampler, NSGAIISampler, TPESampler

warnings.simplefilter("ignore")  # of what is experimental or deprecated in Optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = sys.argv[1]
seed, objectives, trials, *counts = map(int, sys.argv[2:])

if sampler.startswith("nsga2-"):
    chosen = NSGAIISampler(population_size=int(sampler[6:]), seed=seed)
elif sampler == "motpe":
    chosen = MOTPESampler(seed=seed)
else:
    chosen = TPESampler(multivariate=sampler == "tpe-joint", seed=seed)


def distribution(count):
    if count == 0:
        return FloatDistribution(0.0, 1.0)
    return IntDistribution(0, count - 1) if count > 0 else CategoricalDistribution(range(-count))


space = {f"x{j}": distribution(count) for j, count in enumerate(counts)}
study = optuna.create_study(sampler=chosen, directions=["maximize"] * objectives)
for _ in range(trials):
    trial = study.ask(space)
    print(*(repr(trial.params[name]) for name in space), flush=True)
    study.tell(trial, [float(value) for value in sys.stdin.readline().split()])
