#!/usr/bin/python3 -B
"""Tables of what build/tests/bench/outside printed, class by class, and two rivals that are not in C.

usage: outside.py FILE [OTHER...]           paired differences to gp of the first file: minus is better than it
       outside.py budgets NAME FILE...      differences of the algorithm NAME to each other after 10, 20, 50 ... trials
       outside.py peers FIRST SEEDS [CLASS|CLASS/WORLD...]   lines of Optuna's TPE and of CMA-ES (Debian's python3-optuna
                                            and python3-cmaes) on the worlds of the program BUILD/tests/bench/outside

A cell is the mean difference of log10(best regret / random's median regret) +- its standard error, and wins-losses.
Differences are between the same world and seed; the standard error is of the differences less their world's mean.
"""
import csv
import math
import os
import subprocess
import sys
import time

BASE = "gp"
BUDGETS = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def key(row):
    return row["class"], row["world"], row["seed"]


def cell(pairs):
    """pairs: (world, difference)."""
    n, worlds = len(pairs), {}
    for world, difference in pairs:
        worlds.setdefault(world, []).append(difference)
    mean = sum(difference for _, difference in pairs) / n
    within = sum((x - sum(xs) / len(xs)) ** 2 for xs in worlds.values() for x in xs)
    error = math.sqrt(within / max(n - len(worlds), 1) / n)
    wins, losses = sum(d < -1e-9 for _, d in pairs), sum(d > 1e-9 for _, d in pairs)
    return f"{mean:+.2f} +- {error:.2f} ({wins}-{losses})"


def mean(rows, name):
    return sum(float(row[name]) for row in rows) / len(rows)


def report(paths):
    algorithms, base = [], {}
    for number, path in enumerate(paths):
        rows = [row for row in read(path) if row["class"] != "class"]
        for name in dict.fromkeys(row["algorithm"] for row in rows):
            own = {key(row): row for row in rows if row["algorithm"] == name}
            label = name if len(paths) == 1 else f"{os.path.basename(path)}:{name}"
            algorithms.append((label, own))
            if number == 0 and name == BASE:
                base = own
    by_world = os.environ.get("WORLDS")
    for label, own in algorithms:
        print(f"\n{label}\n| class | end | difference at a third | at the end | stuck | repeats | equals | ms a study |\n|---|---|---|---|---|---|---|---|")
        groups = {}
        for k, row in own.items():
            groups.setdefault("/".join(k[:2]) if by_world else k[0], []).append(row)
        if not by_world:
            groups["all"] = list(own.values())
        for name, rows in groups.items():
            pairs = [(row, base[key(row)]) for row in rows if key(row) in base]
            cells = [cell([(row["world"], float(row[at]) - float(other[at])) for row, other in pairs]) if pairs else "-"
                     for at in ("early", "end")]
            print(f"| {name} ({len(rows)}) | {mean(rows, 'end'):.2f} | {cells[0]} | {cells[1]} | {100 * mean(rows, 'stuck'):.0f} % "
                  f"| {mean(rows, 'repeats'):.2f} | {mean(rows, 'equals'):.2f} | {mean(rows, 'ms'):.0f} |")


def budgets(base, paths):
    own = {}
    for row in [row for path in paths for row in read(path) if row["class"] != "class"]:
        own.setdefault(row["algorithm"], {})[key(row)] = [float(score) for score in row["path"].split()]
    for name, other in own.items():
        pairs = [(k, a, other[k]) for k, a in own[base].items() if k in other and name != base]
        if not pairs:
            continue
        counted = BUDGETS[:max(min(len(a), len(b)) for _, a, b in pairs)]
        print(f"\n{base} to {name}\n| class | " + " | ".join(map(str, counted)) + " |\n|---" + "|---" * len(counted) + "|")
        for group in [*dict.fromkeys(k[0] for k, _, _ in pairs), "all"]:
            of = [pair for pair in pairs if group in (pair[0][0], "all")]
            cells = [[(k[1], a[i] - b[i]) for k, a, b in of if i < min(len(a), len(b))] for i in range(len(counted))]
            print(f"| {group} ({len(of)}) | " + " | ".join(cell(c) if c else "-" for c in cells) + " |")


class World:
    """outside play: kinds of parameters are double, int, categorical, discrete."""

    def __init__(self, program, seed, name):
        self.process = subprocess.Popen([program, "play", str(seed), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        head = self.process.stdout.readline().split()
        self.least, self.early, self.late = map(float, head[1:])
        self.params = [self.process.stdout.readline().split() for _ in range(int(head[0]))]

    def ask(self, point):
        self.process.stdin.write(" ".join(repr(float(x)) for x in point) + "\n")
        self.process.stdin.flush()
        return map(float, self.process.stdout.readline().split())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def tpe(world, seed, trials):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(trials):
        trial, point = study.ask(), []
        for i, (kind, is_log, low, high, choices, _) in enumerate(world.params):
            if kind == "0":
                point.append(trial.suggest_float(f"x{i}", float(low), float(high), log=is_log == "1"))
            elif kind == "1":
                point.append(trial.suggest_int(f"x{i}", int(float(low)), int(float(high))))
            else:
                numbers = range(int(choices)) if kind == "2" else world.values[i]
                point.append(trial.suggest_categorical(f"x{i}", list(numbers)))
        value, truth = world.ask(point)
        yield truth
        if math.isnan(value):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value)


def cma(world, seed, trials):
    import cmaes
    import numpy
    d = len(world.params)
    optimizer = cmaes.CMA(mean=numpy.full(d, 0.5), sigma=0.25, bounds=numpy.array([[0, 1]] * d), seed=seed)
    told, worst = [], 0.0
    for _ in range(trials):
        u = optimizer.ask()
        value, truth = world.ask([float(p[2]) + x * (float(p[3]) - float(p[2])) for x, p in zip(u, world.params)])
        yield truth
        worst = max(worst, value) if not math.isnan(value) else worst
        told.append((u, worst if math.isnan(value) else value))
        if len(told) == optimizer.population_size:
            optimizer.tell(told)
            told = []


def score(truths, world, random):
    regret = min((t for t in truths if not math.isnan(t)), default=math.inf) - world.least
    return math.log10(max(min(regret / random, 1e6), 1e-6))


def peers(first, seeds, names, trials=60):
    program = os.path.join(os.environ.get("BUILD", "build"), "tests/bench/outside")
    listed = subprocess.run([program, "1", "1", "3", "random", *names], capture_output=True, text=True, check=True).stdout
    print("class,world,seed,algorithm,early,end,stuck,repeats,equals,ms")
    for row in csv.DictReader(listed.splitlines()):
        for seed in range(first, first + seeds):
            for name, run in (("tpe", tpe), ("cma-es", cma)):
                world = World(program, seed, f"{row['class']}/{row['world']}")
                kinds = {p[0] for p in world.params}
                if kinds <= {"0"} or (name == "tpe" and "3" not in kinds):
                    began = time.process_time()
                    truths = list(run(world, seed, trials))
                    third = truths[:trials // 3]
                    print(f"{row['class']},{row['world']},{seed},{name},{score(third, world, world.early):.4f},"
                          f"{score(truths, world, world.late):.4f},0,0,0,{1e3 * (time.process_time() - began):.1f}", flush=True)
                world.close()


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "peers":
        peers(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    elif len(sys.argv) > 3 and sys.argv[1] == "budgets":
        budgets(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) > 1 and sys.argv[1] not in ("peers", "budgets"):
        report(sys.argv[1:])
    else:
        sys.exit(__doc__)
