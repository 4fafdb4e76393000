"""The tasks of tests/bench/real: models of scikit-learn on the data it ships, and tables of such figures.  All are
minimised.  A task is its parameters and a function of a point: {name: value} of the parameters that exist there.  Which
tasks are for development and which to judge by was settled before any of them was run."""
import csv
import os
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy
import numpy as np  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier  # noqa: E402
from sklearn.feature_selection import SelectKBest  # noqa: E402
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, StandardScaler  # noqa: E402
from sklearn.svm import SVC, SVR  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

warnings.simplefilter("ignore")  # of fits that stop early, which is part of the task

HERE = os.path.dirname(os.path.abspath(__file__))


def number(name, low, high, scale="linear", **when):
    return {"name": name, "type": "double", "min": low, "max": high, "scale": scale, "when": when}


def log(name, low, high, **when):
    return number(name, low, high, "log", **when)


def whole(name, low, high, **when):
    return {"name": name, "type": "int", "min": low, "max": high, "when": when}


def choice(name, *values, **when):
    return {"name": name, "type": "categorical", "values": list(values), "when": when}


def exists(parameter, point):
    return all(point.get(name) in values for name, values in parameter["when"].items())


# --- models ---

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}


def after_scaling(point, *steps):
    return make_pipeline(*([SCALERS[point["scale"]]()] if point["scale"] in SCALERS else []), *steps)


SCALE = choice("scale", "none", "standard", "minmax")
SVM = ["svm"]
CLASSIFIERS = [
    SCALE, choice("model", "svm", "neighbours", "tree", "linear", "forest"),
    log("C", 1e-3, 1e3, model=SVM), choice("kernel", "rbf", "poly", "sigmoid", "linear", model=SVM),
    log("gamma", 1e-5, 10, kernel=["rbf", "poly", "sigmoid"]), whole("degree", 2, 5, kernel=["poly"]),
    whole("k", 1, 40, model=["neighbours"]), choice("weights", "uniform", "distance", model=["neighbours"]),
    choice("metric", "manhattan", "euclidean", model=["neighbours"]),
    whole("depth", 1, 12, model=["tree", "forest"]), whole("leaf", 1, 20, model=["tree"]),
    choice("criterion", "gini", "entropy", model=["tree"]), number("share", 0.1, 1, model=["forest"]),
    choice("penalty", "l1", "l2", model=["linear"]), log("strength", 1e-4, 1e3, model=["linear"])]


def classifier(p):
    return after_scaling(p, {
        "svm": lambda: SVC(C=p["C"], kernel=p["kernel"], gamma=p.get("gamma", "scale"), degree=p.get("degree", 3),
                           max_iter=2000),
        "neighbours": lambda: KNeighborsClassifier(p["k"], weights=p["weights"], metric=p["metric"]),
        "tree": lambda: DecisionTreeClassifier(max_depth=p["depth"], min_samples_leaf=p["leaf"],
                                               criterion=p["criterion"], random_state=0),
        "linear": lambda: LogisticRegression(C=p["strength"], penalty=p["penalty"], solver="liblinear", random_state=0),
        "forest": lambda: RandomForestClassifier(8, max_depth=p["depth"], max_features=p["share"], random_state=0),
    }[p["model"]]())


REGRESSORS = [
    SCALE, choice("model", "ridge", "lasso", "svm", "neighbours", "boosting"),
    log("ridge", 1e-6, 1e3, model=["ridge"]), log("lasso", 1e-4, 1e2, model=["lasso"]),
    log("C", 1e-2, 1e4, model=SVM), log("gamma", 1e-4, 10, model=SVM), log("epsilon", 1e-3, 1e2, model=SVM),
    whole("k", 1, 40, model=["neighbours"]), choice("weights", "uniform", "distance", model=["neighbours"]),
    whole("trees", 3, 30, model=["boosting"]), log("rate", 1e-2, 1, model=["boosting"]),
    whole("depth", 1, 4, model=["boosting"]), number("share", 0.3, 1, model=["boosting"])]


def regressor(p):
    return after_scaling(p, {
        "ridge": lambda: Ridge(p["ridge"]),
        "lasso": lambda: Lasso(p["lasso"]),
        "svm": lambda: SVR(C=p["C"], gamma=p["gamma"], epsilon=p["epsilon"]),
        "neighbours": lambda: KNeighborsRegressor(p["k"], weights=p["weights"]),
        "boosting": lambda: GradientBoostingRegressor(n_estimators=p["trees"], learning_rate=p["rate"], random_state=0,
                                                      max_depth=p["depth"], subsample=p["share"]),
    }[p["model"]]())


NET = [whole("width", 4, 64), choice("activation", "relu", "tanh", "logistic"),
       choice("solver", "adam", "sgd", "lbfgs"), log("alpha", 1e-6, 1), log("rate", 1e-4, 1, solver=["adam", "sgd"]),
       number("momentum", 0, 0.99, solver=["sgd"]), whole("batch", 8, 64, solver=["adam", "sgd"])]


def net(p):
    return make_pipeline(StandardScaler(), MLPClassifier(
        (p["width"],), activation=p["activation"], solver=p["solver"], alpha=p["alpha"], max_iter=15, random_state=0,
        learning_rate_init=p.get("rate", 1e-3), momentum=p.get("momentum", 0.9), batch_size=p.get("batch", "auto")))


BOOSTING = [whole("trees", 3, 20), log("rate", 1e-2, 2), whole("depth", 1, 5), number("rows", 0.3, 1),
            number("columns", 0.1, 1), whole("leaf", 1, 20), choice("criterion", "friedman_mse", "squared_error")]


def boosting(p):
    return GradientBoostingClassifier(n_estimators=p["trees"], learning_rate=p["rate"], max_depth=p["depth"],
                                      subsample=p["rows"], max_features=p["columns"], min_samples_leaf=p["leaf"],
                                      criterion=p["criterion"], random_state=0)


STAGES = [SCALE, choice("reduce", "none", "pca", "best"), whole("parts", 2, 40, reduce=["pca"]),
          choice("whiten", "no", "yes", reduce=["pca"]), whole("columns", 2, 60, reduce=["best"]),
          choice("model", "svm", "ridge", "bayes", "neighbours"), log("C", 1e-2, 1e3, model=SVM),
          log("gamma", 1e-5, 1, model=SVM), log("ridge", 1e-4, 1e4, model=["ridge"]),
          log("smoothing", 1e-12, 1, model=["bayes"]), whole("k", 1, 30, model=["neighbours"])]


def stages(p):
    reduce = {"none": lambda: [], "best": lambda: [SelectKBest(k=p["columns"])],
              "pca": lambda: [PCA(p["parts"], whiten=p["whiten"] == "yes", random_state=0)]}[p["reduce"]]()
    return after_scaling(p, *reduce, {
        "svm": lambda: SVC(C=p["C"], gamma=p["gamma"]), "ridge": lambda: RidgeClassifier(p["ridge"]),
        "bayes": lambda: GaussianNB(var_smoothing=p["smoothing"]),
        "neighbours": lambda: KNeighborsClassifier(p["k"])}[p["model"]]())


COLUMNS = [SCALE, whole("k", 1, 30), choice("weights", "uniform", "distance"),
           *(choice(f"use{j}", "no", "yes") for j in range(13))]


class Chosen(StandardScaler):
    """Some columns of a table."""

    def __init__(self, columns=None):
        super().__init__()
        self.columns = columns

    def transform(self, X, copy=None):
        return X[:, self.columns]


def columns(p):
    used = [j for j in range(13) if p[f"use{j}"] == "yes"] or [0]
    return make_pipeline(Chosen(used), after_scaling(p, KNeighborsClassifier(p["k"], weights=p["weights"])))


# --- their losses ---

def rows_of(load, most, target):
    X, y = load(return_X_y=True)
    if target is not None:
        X, y = np.column_stack([np.delete(X, target, axis=1), y]), X[:, target] * 1000
    chosen = np.random.RandomState(0).permutation(len(X))[:most]
    return X[chosen], y[chosen]


def error_share(model, X, y):
    return float(np.mean(model.predict(X) != y))


def log_loss(model, X, y):
    probability = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(np.mean(-np.log(np.clip(np.nan_to_num(probability), 1e-6, 1))))


def squares(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


def trained(make, load, loss, most, target=None):
    """The mean loss over two halves, each after training on the other."""
    data = []

    def function(point):
        if not data:
            data.extend(rows_of(load, most, target))
        X, y = data
        half = len(y) // 2
        parts = [(slice(half), slice(half, None)), (slice(half, None), slice(half))]
        try:
            return sum(loss(make(point).fit(X[one], y[one]), X[other], y[other]) for one, other in parts) / 2
        except ValueError:  # training diverged
            return float(np.log(1e6))
    return function


# --- tables ---

def data_file(*names):
    return os.path.join(os.environ.get("DATA", ""), *names)


SVM_TABLE = [choice("kernel", "rbf", "poly", "linear"), whole("C", 0, 11), whole("gamma", 0, 13, kernel=["rbf"]),
             whole("degree", 0, 8, kernel=["poly"])]


def svm_table(data_set):
    """288 settings of a support vector machine, each of which is a point."""
    table = {}

    def read():
        with open(data_file("svm_benchmark_tst", "svm_grid.csv"), encoding="ascii") as file:
            rows = [row for row in csv.DictReader(file) if row["task"] == data_set]
        places = [sorted({float(row[name]) for row in rows if row[kind] == "1"})
                  for name, kind in (("h3", "k0_ind"), ("h4", "k0_ind"), ("h5", "k1_ind"))]
        for row in rows:
            kernel = [row[f"k{j}_ind"] for j in range(3)].index("1")
            key = [places[0].index(float(row["h3"]))] + [places[kernel + 1].index(float(row[f"h{4 + kernel}"]))
                                                         for _ in range(kernel < 2)]
            table[("rbf", "poly", "linear")[kernel], *key] = 1 - float(row["accuracy"])

    def function(point):
        if not table:
            read()
        return table[tuple(point.values())]
    return function


NET_NAMES = ["alpha", "batch_size", "depth", "learning_rate_init", "width"]
NET_TABLE = [whole(name, 0, 2 if name == "depth" else 9) for name in NET_NAMES]


def net_table(data_set):
    """A tenth of a grid of networks: the row nearest to a point stands for it."""
    table = []

    def read():
        path = os.path.join(HERE, "..", "data", "hpobench", "mlp_2tasks.csv")
        if data_set not in ("segment", "vehicle"):
            path = data_file("hpobench_tabular", "hpobench_mlp_8tasks_3000configs.csv")
        with open(path, encoding="ascii") as file:
            rows = list(csv.DictReader(file))
        values = np.array([[float(row[name]) for name in NET_NAMES] for row in rows])
        table.extend([np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T]),
                      [1 - float(row[data_set]) for row in rows]])

    def function(point):
        if not table:
            read()
        place = [point[name] for name in NET_NAMES]
        return table[1][int(np.argmin(np.sum((table[0] - place) ** 2, axis=1)))]
    return function


TASKS = {
    "development": {
        "classifiers, wine": (CLASSIFIERS, trained(classifier, datasets.load_wine, error_share, 178)),
        "regressors, diabetes": (REGRESSORS, trained(regressor, datasets.load_diabetes, squares, 200)),
        "net, iris": (NET, trained(net, datasets.load_iris, log_loss, 150)),
        "boosting, breast cancer": (BOOSTING, trained(boosting, datasets.load_breast_cancer, log_loss, 150)),
        **{f"svm table, {name}": (SVM_TABLE, svm_table(name)) for name in ("australian", "segment", "pima")},
        **{f"net table, {name}": (NET_TABLE, net_table(name)) for name in ("segment", "vehicle")}},
    "judgement": {
        "classifiers, digits": (CLASSIFIERS, trained(classifier, datasets.load_digits, error_share, 300)),
        "classifiers, breast cancer": (CLASSIFIERS, trained(classifier, datasets.load_breast_cancer, error_share, 200)),
        "regressors, body mass": (REGRESSORS, trained(regressor, datasets.load_diabetes, squares, 200, 2)),
        "net, digits": (NET, trained(net, datasets.load_digits, log_loss, 150)),
        "stages, digits": (STAGES, trained(stages, datasets.load_digits, error_share, 300)),
        "columns, wine": (COLUMNS, trained(columns, datasets.load_wine, error_share, 178)),
        **{f"svm table, {name}": (SVM_TABLE, svm_table(name)) for name in ("banana", "splice", "winequality-red")},
        **{f"net table, {name}": (NET_TABLE, net_table(name)) for name in ("car", "kc1", "phoneme")}}}
