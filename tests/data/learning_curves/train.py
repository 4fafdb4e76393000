"""Learning curves of models trained on data that scikit-learn ships: train.py NAME > TABLE.csv
NAME: one of KINDS.  Row i draws its configuration with seed 1000 + i; nothing is left out.  A run that diverged has from there on
what guessing would score, or an error of 10.  A half (diabetes) or 30 to 40 % (digits) are trained on, the rest is what values are of."""
import sys
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")


def split(load, share):
    x, y = load(return_X_y=True)
    a, b, c, d = train_test_split(x, y, train_size=share, random_state=0, stratify=y if len(set(y)) < 20 else None)
    scaler = StandardScaler().fit(a)
    return scaler.transform(a), scaler.transform(b), c, d


def diabetes():
    x, v, y, w = split(load_diabetes, 0.5)
    return x, v, (y - 150) / 77, (w - 150) / 77


def log(r, low, high):
    return float(np.exp(r.uniform(np.log(low), np.log(high))))


def accuracy(model, v, w):
    return float((model.predict(v) == w).mean())


def rmse(model, v, w):
    e = model.predict(v) - w
    return float(min(np.sqrt((e * e).mean()), 10.0)) if np.isfinite(e).all() else 10.0


def net(model, r, data, epochs, rate, score):
    x, v, y, w = data
    out, classes = [], np.unique(y)
    for epoch in range(epochs):
        model.learning_rate_init = rate(epoch)
        if hasattr(model, "_optimizer"):
            model._optimizer.learning_rate_init = model._optimizer.learning_rate = rate(epoch)
        p = r.permutation(len(x))
        try:
            model.partial_fit(x[p], y[p], *([classes] if hasattr(model, "predict_proba") else []))
        except ValueError:
            guess = 1 / len(classes) if score is accuracy else 10.0
            return out + [guess] * (epochs - len(out))
        out.append(score(model, v, w))
    return out


def steps(r):
    lr, alpha, hidden, batch = log(r, 1e-3, 1), log(r, 1e-5, 1), int(log(r, 8, 128)), int(log(r, 8, 128))
    momentum = r.uniform(0, 0.95)
    model = MLPClassifier((hidden,), solver="sgd", alpha=alpha, batch_size=batch, momentum=momentum, random_state=0)
    curve = net(model, r, split(load_digits, 0.4), 60, lambda e: lr * (1 if e < 30 else 0.1 if e < 45 else 0.01), accuracy)
    return (lr, alpha, hidden, batch, momentum), curve


def adam(r):
    lr, alpha, hidden, batch = log(r, 1e-4, 0.1), log(r, 1e-5, 1), int(log(r, 8, 128)), int(log(r, 8, 128))
    beta = r.uniform(0.5, 0.99)
    model = MLPClassifier((hidden,), solver="adam", alpha=alpha, batch_size=batch, beta_1=beta, random_state=0)
    return (lr, alpha, hidden, batch, beta), net(model, r, split(load_digits, 0.4), 50, lambda _: lr, accuracy)


def drop(r):
    lr, alpha, hidden, batch = log(r, 1e-4, 0.1), log(r, 1e-4, 10), int(log(r, 4, 128)), int(log(r, 4, 64))
    momentum = r.uniform(0, 0.95)
    model = MLPRegressor((hidden,), solver="sgd", alpha=alpha, batch_size=batch, momentum=momentum, random_state=0)
    return (lr, alpha, hidden, batch, momentum), net(model, r, diabetes(), 60, lambda e: lr * (1 if e < 36 else 0.1), rmse)


def svm(r):
    x, v, y, w = split(load_digits, 0.4)
    lr, alpha, l1, factor = log(r, 1e-5, 1), log(r, 1e-6, 1), r.uniform(), log(r, 0.001, 0.5)
    model = SGDClassifier(loss="hinge", penalty="elasticnet", alpha=alpha, l1_ratio=l1, learning_rate="constant", eta0=lr,
                          random_state=0)
    out = []
    for epoch in range(50):
        model.eta0 = lr * (1 if epoch < 30 else factor)
        p = r.permutation(len(x))
        model.partial_fit(x[p], y[p], np.unique(y))
        out.append(accuracy(model, v, w))
    return (lr, alpha, l1, factor), out


def trees(r, deepest, leaves, rate, features):
    return log(r, rate, 1), int(r.integers(1, deepest)), r.uniform(0.3, 1), int(log(r, 1, leaves)), r.uniform(*features)


def boosted_diabetes(r):
    x, v, y, w = diabetes()
    lr, depth, subsample, leaf, features = trees(r, 7, 50, 0.005, (0.1, 1))
    model = GradientBoostingRegressor(learning_rate=lr, n_estimators=100, max_depth=depth, subsample=subsample,
                                      min_samples_leaf=leaf, max_features=features, random_state=0).fit(x, y)
    return (lr, depth, subsample, leaf, features), [float(np.sqrt(((p - w) ** 2).mean())) for p in model.staged_predict(v)]


def boosted_digits(r):
    x, v, y, w = split(load_digits, 0.3)
    lr, depth, subsample, leaf, features = trees(r, 6, 30, 0.01, (0.05, 0.5))
    model = GradientBoostingClassifier(learning_rate=lr, n_estimators=50, max_depth=depth, subsample=subsample,
                                       min_samples_leaf=leaf, max_features=features, random_state=0).fit(x, y)
    curve = [float(min(log_loss(w, np.clip(p, 1e-6, 1)), 5)) for p in model.staged_predict_proba(v)]
    return (lr, depth, subsample, leaf, features), curve


NETWORK, TREES = "lr,alpha,hidden,batch,", "lr,depth,subsample,leaf,features"
KINDS = {"mlp_digits_steps": (steps, NETWORK + "momentum", 300), "mlp_digits_adam": (adam, NETWORK + "beta1", 300),
         "mlp_diabetes_drop_rmse": (drop, NETWORK + "momentum", 300), "svm_digits_drop": (svm, "lr,alpha,l1_ratio,drop", 300),
         "boosting_diabetes_rmse": (boosted_diabetes, TREES, 300), "boosting_digits_logloss": (boosted_digits, TREES, 240)}
run, names, rows = KINDS[sys.argv[1]]
for i in range(rows):
    point, values = run(np.random.default_rng(1000 + i))
    if i == 0:
        print(f"config,{names}," + ",".join(f"e{k + 1}" for k in range(len(values))))
    print(f"{i}," + ",".join(f"{x:.4g}" for x in (*point, *values)))
