"""What `study.plot` draws, with matplotlib, from the tables that the service makes for it.  Each function takes the study, the
axes and what is asked of the service."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Tuple

from .errors import Conflict

if TYPE_CHECKING:
    from .study import Study

Query = Mapping[str, Any]


def columns(table: Mapping[str, List[Any]], *names: str) -> List[List[Any]]:
    """These columns, of the rows that have all of them."""
    rows = [row for row in zip(*(table[name] for name in names)) if None not in row]
    return [list(column) for column in zip(*rows)] if rows else [[] for _ in names]


def log_scale(study: "Study", name: str) -> bool:
    return name in study.space.kinds and study.space.kinds[name].declared.get("scale") == "log"


def history(study: "Study", ax: Any, query: Query) -> None:
    """Values, the best so far, and what the model forecast before: two standard deviations of a value."""
    plot = study._get("/plot/history", **query)
    number, mean, deviation = columns(plot["marks"], "trial", "mean", "stddev_observed")
    if number:
        ax.errorbar(number, mean, yerr=[2 * s for s in deviation], fmt="none", elinewidth=3, alpha=0.25, label="forecast")
    ax.plot(*columns(plot["marks"], "trial", "value"), "o", markersize=3, label="value")
    number, value = columns(plot.get("best", {"trial": [], "value": []}), "trial", "value")
    if number:
        ax.step([*number, plot["trials"]["total"]], [*value, value[-1]], where="post", label="best so far")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="trial", ylabel=plot["metric"])
    ax.legend()


def importances(study: "Study", ax: Any, query: Query) -> None:
    rows = [row for row in study.importances(**query) if row.total is not None][::-1]
    ax.barh([row.name for row in rows], [row.total for row in rows])
    ax.set(xlabel="share of the variation, interactions included")


def slice_(study: "Study", ax: Any, query: Query) -> None:
    """The trials over one parameter, and the model through the best of them."""
    name = query["x"]
    plot = study._get("/plot/slice", **query)
    model = modelled(study, query)
    grid, mean, deviation = columns({"x": model["grid"][0], "mean": model["mean"], "sd": model["stddev"]}, "x", "mean", "sd") \
        if model else ([], [], [])
    place, value = columns(plot["cells"], "x", "value")
    if all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in [*grid, *place]):
        ax.plot(place, value, "o", markersize=3)
        ax.plot(grid, mean, label="model" if grid else None)
        ax.fill_between(grid, [m - 2 * s for m, s in zip(mean, deviation)], [m + 2 * s for m, s in zip(mean, deviation)],
                        alpha=0.2)
        ax.set(xscale="log" if log_scale(study, name) else "linear")
    else:
        ax.plot(list(map(str, place)), value, "o", markersize=3)
        ax.errorbar(list(map(str, grid)), mean, yerr=[2 * s for s in deviation], fmt="s", label="model" if grid else None)
    ax.set(xlabel=name, ylabel=plot["metric"])
    if grid:
        ax.legend()


def modelled(study: "Study", query: Query) -> Any:
    """The model's forecast through the best trial; None where that has not this parameter."""
    try:
        return study._get("/slice", **query)
    except Conflict as refused:
        if refused.code != "outside_space":
            raise
        return None


def contour(study: "Study", ax: Any, query: Query) -> None:
    """The model over two parameters through the best trial, and the trials."""
    names = [query["x"], query["y"]]
    model = modelled(study, query)
    place = columns(study._get("/plot/contour", **query)["cells"], "x", "y")
    if model is not None:
        (x, y), mean = model["grid"], model["mean"]
        plane = [[row[j] if row[j] is not None else float("nan") for row in mean] for j in range(len(y))]
    if all(study.space.kinds[name].declared["type"] != "categorical" for name in names):
        shades = ax.contourf(x, y, plane, levels=12) if model else None
        ax.plot(*place, "k.", markersize=3)
        ax.set(**{f"{axis}scale": "log" for axis, name in zip("xy", names) if log_scale(study, name)})
    elif model is not None:
        shades = ax.imshow(plane, origin="lower", aspect="auto")
        for ticks, grid in ((ax.set_xticks, x), (ax.set_yticks, y)):
            shown = range(0, len(grid), max(1, len(grid) // 6))
            ticks(shown, [f"{grid[i]:.3g}" if isinstance(grid[i], float) else str(grid[i]) for i in shown])
    else:
        shades = None
        ax.plot(*(list(map(str, column)) for column in place), "k.", markersize=3)
    if shades is not None and model is not None:
        ax.figure.colorbar(shades, ax=ax, label=model["metric"])
    ax.set(xlabel=names[0], ylabel=names[1])


def axis_of(study: "Study", name: str, column: List[Any]) -> Tuple[List[Any], str, str]:
    """Places from 0 to 1, and what the ends are called."""
    known = [value for value in column if value is not None]
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        order = sorted(set(map(str, known)))
        return [None if v is None else order.index(str(v)) / max(1, len(order) - 1) for v in column], order[0], order[-1]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    names = f"{low:.3g}", f"{high:.3g}"
    if log_scale(study, name):
        low, high, column = math.log(low), math.log(high), [v if v is None else math.log(v) for v in column]
    return [None if v is None else (v - low) / ((high - low) or 1) for v in column], *names


def parallel(study: "Study", ax: Any, query: Query) -> None:
    """One line a trial over all parameters, the better the darker; each axis from its lowest to its highest."""
    plot = study._get("/plot/parallel", **query)
    values = plot["lines"]["value"]
    names = list(plot["parameters"])
    axes = [axis_of(study, name, plot["parameters"][name]) for name in names]
    metric = next(metric for metric in study["metrics"] if metric["name"] == plot["metric"])
    goal, low, high = metric["goal"], metric.get("target", metric.get("min")), metric.get("target", metric.get("max"))

    def worth(row: int) -> float:
        if goal in ("target", "range"):
            return -float(max(low - values[row], values[row] - high, 0))
        return float(values[row] if goal == "maximize" else -values[row])

    ranks = {row: rank for rank, row in enumerate(sorted(range(len(values)), key=worth))}
    for row in sorted(ranks, key=ranks.__getitem__):  # the best are drawn last
        shade = (ranks[row] + 1) / len(values)
        ax.plot(range(len(names)), [float("nan") if place[row] is None else place[row] for place, _, _ in axes],
                color=(0.9 - 0.85 * shade, 0.92 - 0.6 * shade, 0.95 - 0.35 * shade), linewidth=1 + shade)
    ax.set_xticks(range(len(names)), [f"{low}\n{name}" for name, (_, low, _) in zip(names, axes)])
    for place, (_, _, high) in enumerate(axes):
        ax.text(place, 1.03, high, ha="center")
    ax.set(yticks=[], ylim=(-0.03, 1.1), title=f"{plot['metric']}: the darker, the {dict(maximize='higher', target='nearer', range='nearer').get(goal, 'lower')}")


def pareto(study: "Study", ax: Any, query: Query) -> None:
    plot = study._get("/plot/pareto", **query)
    objectives = [metric["name"] for metric in study["metrics"] if metric["goal"] not in ("constrain", "track")][:2]
    for name, style in (("dominated", "."), ("front", "o")):
        ax.plot(*columns(plot[name], *objectives), style, label=name)
    ax.set(xlabel=objectives[0], ylabel=objectives[-1])
    ax.legend()


def curves(study: "Study", ax: Any, query: Query) -> None:
    for curve in study.client.transport.pages(study.path + "/curves", "curves"):
        ax.plot(curve["steps"], curve["values"], linewidth=1, linestyle="--" if curve["state"] == "stopped" else "-",
                color="tab:red" if curve["state"] == "stopped" else "tab:blue", alpha=0.6)
    ax.set(xlabel="step", ylabel=study.metrics[0], title="dashed: stopped")


KINDS: Dict[str, Callable[["Study", Any, Query], None]] = {
    "history": history, "importances": importances, "slice": slice_, "contour": contour, "parallel": parallel,
    "pareto": pareto, "curves": curves}


def plot(study: "Study", kind: str, ax: Any, query: Query) -> Any:
    if kind not in KINDS:
        raise ValueError(f"there are {', '.join(KINDS)}, not {kind!r}")
    try:
        import matplotlib.pyplot
    except ImportError as missing:
        raise ImportError("plot() needs matplotlib") from missing
    if ax is None:
        _, ax = matplotlib.pyplot.subplots(layout="constrained")
    KINDS[kind](study.refresh(), ax, query)
    return ax
