"""The planning recursion of epsilon-Macro-BO in NumPy, for comparing speeds in one run: fresh samples at every node, all
nodes of a prefix at once; stage sums are linear in the samples.  Prints "H N seconds nodes" of one plan a line."""
import sys
import time

import numpy as np

SIDE, CENTRE, LENGTH, NOISE = 50, (25, 25), 5.0, 1e-5
MOVES = [(1, 0), (-1, 0), (0, 1), (0, -1)]


def covariance(a, b):
    return np.exp(-((a[:, None, :] - b[None, :, :]) ** 2).sum(-1) / (2 * LENGTH**2))


def tree(horizon, y0):
    """c and g of the last stage of every path, by path."""
    start = np.array([CENTRE], float)
    steps = {}

    def grow(path, at, prefix):
        if len(prefix) == horizon:
            return
        for a, move in enumerate(MOVES):
            sites = np.array([np.add(at, np.multiply(move, k + 1)) for k in range(4)], float)
            points = np.vstack([path, sites])
            k0 = covariance(points, start)[:, 0] / (1 + NOISE)
            mean = k0 * y0
            posterior = covariance(points, points) - np.outer(k0, k0) * (1 + NOISE) + NOISE * np.eye(len(points))
            factor = np.linalg.cholesky(posterior)
            steps[prefix + (a,)] = (mean[-4:].sum(), factor[-4:, :-4].sum(0))
            grow(points, tuple(sites[-1]), prefix + (a,))

    grow(np.zeros((0, 2)), CENTRE, ())
    return steps


def value(steps, prefix, z, horizon, samples, rng):
    """V of the states z [M][sites] after a prefix, and how many nodes that took."""
    best, nodes = None, len(z)
    for a in range(4):
        c, g = steps[prefix + (a,)]
        q = c + z @ g
        if len(prefix) + 1 < horizon:
            fresh = rng.standard_normal((len(z), samples, 4))
            below = np.concatenate([np.repeat(z, samples, 0), fresh.reshape(-1, 4)], 1)
            v, more = value(steps, prefix + (a,), below, horizon, samples, rng)
            q = q + v.reshape(len(z), samples).mean(1)
            nodes += more
        else:
            nodes += len(z)
        best = q if best is None else np.maximum(best, q)
    return best, nodes


for horizon, samples in [(3, 100), (4, 20)]:
    seconds = []
    for repetition in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
        begin = time.perf_counter()
        v, nodes = value(tree(horizon, 0.5), (), np.zeros((1, 0)), horizon, samples, np.random.default_rng(repetition))
        seconds.append(time.perf_counter() - begin)
    print(horizon, samples, min(seconds), nodes)
