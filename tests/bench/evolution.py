#!/usr/bin/python3 -B
"""Expected running times of an algorithm against Debian's python3-cmaes (0.9.1), with restarts by doubled populations.

    tests/bench/evolution.py [SEEDS [FIRST [DIMS [EVALUATIONS [ALGORITHM]]]]]      cma-es, by build/tests/bench/evolution

cma-es and the other begin in the middle with a fifth of the range, and later runs anywhere. A line for each function: for each target the
expected running time of both (evaluations of all runs, up to the target, for each that reached it) and their ratio; last the
geometric mean over what both reached at all.
"""
import math
import os
import subprocess
import sys

import numpy
from cmaes import CMA

PROGRAM = os.environ.get("EVOLUTION", "build/tests/bench/evolution")
TARGETS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]


def peer(form, seed, d, evaluations):
    side = subprocess.Popen([PROGRAM, "evaluate", form, str(seed), str(d)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    bounds = numpy.array([[-5.0, 5.0]] * d)
    rng = numpy.random.RandomState(seed)
    search = CMA(mean=numpy.zeros(d), sigma=2.0, bounds=bounds, seed=seed)
    at, best, done = [0] * len(TARGETS), math.inf, 0
    while done < evaluations and at[-1] == 0:
        points = []
        for _ in range(search.population_size):
            x = search.ask()
            side.stdin.write((" ".join(repr(float(v)) for v in x) + "\n").encode())
            points.append(x)
        side.stdin.flush()
        told = []
        for x in points:
            value = float(side.stdout.readline())
            told.append((x, value))
            done += 1
            best = min(best, value)
            for i, target in enumerate(TARGETS):
                if best < target and at[i] == 0 and done <= evaluations:
                    at[i] = done
        search.tell(told)
        if search.should_stop():
            search = CMA(mean=rng.uniform(-5, 5, d), sigma=2.0, bounds=bounds, seed=seed + 1000 * done,
                         population_size=2 * search.population_size)
    side.stdin.close()
    side.wait()
    return at


def ert(rows, i, evaluations):
    reached = [row[i] for row in rows if row[i] > 0]
    return (sum(reached) + evaluations * (len(rows) - len(reached))) / len(reached) if reached else math.inf


def main():
    seeds, first, d, evaluations = [int(a) for a in sys.argv[1:5]] + [3, 1, 10, 10000][len(sys.argv) - 1:]
    algorithm = sys.argv[5] if len(sys.argv) > 5 else "cma-es"
    ours, logs = {}, []
    lines = subprocess.run([PROGRAM, str(seeds), str(first), str(d), algorithm, str(evaluations)], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    for line in lines.splitlines():
        cells = line.split(",")
        ours.setdefault(cells[0], []).append([int(c) for c in cells[2:2 + len(TARGETS)]])
    print("form," + ",".join(f"{t:g} ours,peer,ratio" for t in TARGETS))
    for form, rows in ours.items():
        peers = [peer(form, seed, d, evaluations) for seed in range(first, first + seeds)]
        cells = []
        for i in range(len(TARGETS)):
            a, b = ert(rows, i, evaluations), ert(peers, i, evaluations)
            cells.append(f"{a:.0f},{b:.0f},{a / b:.2f}" if math.isfinite(a + b) else f"{a:.0f},{b:.0f},")
            if math.isfinite(a + b):
                logs.append(math.log(a / b))
        print(form + "," + ",".join(cells), flush=True)
    print(f"geometric mean,{math.exp(sum(logs) / len(logs)):.3f},{len(logs)}")


if __name__ == "__main__":
    main()
