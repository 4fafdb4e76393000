#!/usr/bin/python3 -B
"""NSGA-II of DEAP (Debian: python3-deap) on the unit cube: prints a point a line and reads minus its objectives.
  nsga2.py DIMENSIONS OBJECTIVES POPULATION TRIALS SEED
Simulated binary crossover and polynomial mutation as in Deb et al. 2002: eta 20, probabilities 0.9 and 1 / d."""
import random
import sys

from deap import base, creator, tools

d, m, population, trials, seed = map(int, sys.argv[1:])
random.seed(seed)
creator.create("Fitness", base.Fitness, weights=(1.0,) * m)
creator.create("Point", list, fitness=creator.Fitness)


def measure(points):
    global trials
    for point in points:
        if trials == 0:
            sys.exit()
        trials -= 1
        print(*map(repr, point), flush=True)
        point.fitness.values = tuple(map(float, sys.stdin.readline().split()))


def offspring(parents):
    children = [creator.Point(point) for point in tools.selTournamentDCD(parents, len(parents))]
    for a, b in zip(children[::2], children[1::2]):
        if random.random() < 0.9:
            tools.cxSimulatedBinaryBounded(a, b, 20.0, 0.0, 1.0)
        for point in (a, b):
            tools.mutPolynomialBounded(point, 20.0, 0.0, 1.0, 1.0 / d)
    return children


parents = [creator.Point(random.random() for _ in range(d)) for _ in range(population)]
measure(parents)
parents = tools.selNSGA2(parents, population)
while True:
    children = offspring(parents)
    measure(children)
    parents = tools.selNSGA2(parents + children, population)
