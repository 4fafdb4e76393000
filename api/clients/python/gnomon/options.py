"""What is said of an option that a function does not have: the one that was meant, by its spelling or by its name in Optuna, Ax,
scikit-learn, Hyperopt and Ray."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Type, TypeVar

from .errors import hint

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

ELSEWHERE = {
    "trials": "n_trials max_trials total_trials num_trials max_evals n_calls n_iter num_samples",
    "workers": "n_jobs n_workers num_workers max_parallelism parallelism max_concurrent",
    "goal": "direction mode minimize maximize", "metrics": "directions objectives", "metric": "objective_name metric_name",
    "name": "study_name experiment_name", "space": "search_space parameters dimensions param_distributions param_space",
    "algorithm": "sampler algo search_alg generation_strategy",
    "algorithm={\"initial\": ...}": "n_startup_trials n_initial_points n_random_starts n_initial_samples",
    "stopping": "pruner scheduler early_stopping_strategy", "constraints": "parameter_constraints constraints_func",
    "timeout": "time_budget_s timeout_seconds max_time", "progress": "show_progress_bar verbose", "callbacks": "callback",
    "seed": "random_state random_seed", "labels": "user_attrs tags", "notes": "description", "stddev": "sem std noise",
    "fixed": "fixed_params fixed_parameters fixed_features", "params": "parameterization parameters", "url": "storage server address",
    "log=True": "log_scale", "patience": "timeout", "step": "q",
}


def meant(name: str, known: Dict[str, Any]) -> str:
    """The option of this function that is called so elsewhere; "" if there is none."""
    return next((ours for ours, theirs in ELSEWHERE.items() if name in theirs.split() and ours.split("=")[0] in known), "")


def checked(f: F) -> F:
    takes = inspect.signature(f).parameters
    known = {name: one for name, one in takes.items() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and name != "self"}
    is_open = any(one.kind is one.VAR_KEYWORD for one in takes.values())  # the service knows the rest

    @functools.wraps(f)
    def call(*arguments: Any, **more: Any) -> Any:
        for name in more:
            ours = meant(name, known) if name not in known else ""
            if ours or (name not in known and not is_open):
                near = f"; did you mean {ours}?" if ours else hint(name, known)
                own = f.__qualname__[:-len(".__init__")] if f.__name__ == "__init__" else f.__qualname__
                raise TypeError(f"{own} has no option {name}{near or '; it has ' + (', '.join(known) or 'none')}")
        return f(*arguments, **more)
    return call  # type: ignore[return-value]


def names_options(kind: Type[T]) -> Type[T]:
    """Its public functions say so of an option that they do not have."""
    for name, f in list(vars(kind).items()):
        if inspect.isfunction(f) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, checked(f))
    return kind
