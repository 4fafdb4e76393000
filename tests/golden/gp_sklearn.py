"""The engine's Gaussian process against scikit-learn's on random problems.

usage: BUILD=build python3 gp_sklearn.py [SEED]        (needs $BUILD/tests/golden/gp_eval)

Log marginal likelihood, its gradient, posterior mean and standard deviation must agree to 1e-6, relative to the
size of the quantity (a gradient: of its largest component; a mean: of the values' spread).  Nothing of ours is
committed as an expected value: both sides are computed in this run.  Exit code 1 when anything differs.
"""
import os
import subprocess
import sys

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

TOLERANCE = 1e-6
KINDS = ["se", "matern12", "matern32", "matern52"]


def problem(rng, kind):
    n, d, m = int(rng.integers(1, 90)), int(rng.integers(1, 21)), 7
    x = rng.random((n, d))
    if n > 4:
        x[3] = x[1]  # a repeated point
    y = np.sin(4.3 * x[:, 0]) + x.sum(axis=1) / d + 0.1 * rng.standard_normal(n)
    return {
        "kind": kind, "x": x, "y": y, "z": rng.random((m, d)),
        "variance": float(np.exp(rng.normal(0.2, 0.8))),
        "white": float(np.exp(rng.uniform(-9.0, -1.0))),
        "scales": np.exp(rng.normal(-0.2, 0.7, d)) * np.sqrt(d),
        "noise": rng.random(n) * 0.05 * (rng.random() < 0.5),
    }


def as_text(p):
    n, d = p["x"].shape
    numbers = [n, d, len(p["z"]), p["variance"], p["white"]]
    for array in (p["scales"], p["x"], p["y"], p["noise"], p["z"]):
        numbers.extend(array.ravel())
    return " ".join([p["kind"]] + [repr(float(v)) for v in numbers])


def reference(p):
    shape = RBF(p["scales"]) if p["kind"] == "se" else Matern(p["scales"], nu=int(p["kind"][-2]) / 2)
    signal = ConstantKernel(p["variance"]) * shape
    noisy = GaussianProcessRegressor(signal + WhiteKernel(p["white"]), alpha=p["noise"], optimizer=None)
    noisy.fit(p["x"], p["y"])
    value, gradient = noisy.log_marginal_likelihood(noisy.kernel_.theta, eval_gradient=True)
    gradient = np.concatenate([gradient[1:-1], gradient[:1], gradient[-1:]])  # scales, variance, noise
    model = GaussianProcessRegressor(signal, alpha=p["noise"] + p["white"], optimizer=None).fit(p["x"], p["y"])
    mean, sd = model.predict(p["z"], return_std=True)
    return value, gradient, mean, sd


def largest_difference(p, ours):
    value, gradient, mean, sd = reference(p)
    cuts = np.cumsum([1, len(gradient), len(mean)])
    our_value, our_gradient, our_mean, our_sd = np.split(ours, cuts)
    return {
        "likelihood": abs(our_value[0] - value) / max(abs(value), 1.0),
        "gradient": np.abs(our_gradient - gradient).max() / max(np.abs(gradient).max(), 1.0),
        "mean": np.abs(our_mean - mean).max() / max(np.abs(p["y"]).max(), 1e-3),
        "sd": (np.abs(our_sd - sd) / sd).max(),
    }


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 2385
    program = os.path.join(os.environ.get("BUILD", "build"), "tests", "golden", "gp_eval")
    rng = np.random.default_rng(seed)
    problems = [problem(rng, KINDS[k % 4]) for k in range(80)]
    text = "\n".join(as_text(p) for p in problems)
    answer = subprocess.run([program], input=text, capture_output=True, text=True, check=True, timeout=300)
    numbers = np.array([float(v) for v in answer.stdout.split()])
    lengths = [1 + p["x"].shape[1] + 2 + 2 * len(p["z"]) for p in problems]
    if sum(lengths) != len(numbers):
        sys.exit(f"seed {seed}: {len(numbers)} numbers, expected {sum(lengths)}")
    worst = {}
    for k, (p, ours) in enumerate(zip(problems, np.split(numbers, np.cumsum(lengths)[:-1]))):
        for name, difference in largest_difference(p, ours).items():
            if not difference <= worst.get(name, (0.0, 0))[0]:
                worst[name] = (difference, k)
    failed = [name for name, (difference, _) in worst.items() if not difference <= TOLERANCE]
    for name, (difference, k) in sorted(worst.items()):
        print(f"{name}: largest relative difference {difference:.1e} (problem {k}, {KINDS[k % 4]})")
    print(f"{len(problems)} problems, seed {seed}: {'FAILED ' + ' '.join(failed) if failed else 'agree'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
