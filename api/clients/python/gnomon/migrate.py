"""A study of Optuna as a study here: its space, its trials in every state, curves, attributes, constraints.  What Optuna reads
(SQLite, PostgreSQL, a journal) is read by Optuna itself."""
from __future__ import annotations

import hashlib
import math
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from .errors import SpaceDiffers
from .study import Client, Study, asked

PART = 2000  # trials in one request
VALUES = 1000  # of a parameter with a step


class Plan(NamedTuple):
    """What an import sends, and what it leaves out."""

    name: str
    spec: Dict[str, Any]
    trials: List[Dict[str, Any]]
    notes: List[str]


def union(name: str, seen: Sequence[Any], values: Sequence[Any]) -> Dict[str, Any]:
    """The parameter that holds all these distributions; what Optuna says of one may change from trial to trial."""
    first = seen[-1]
    if isinstance(first, CategoricalDistribution):
        choices = [choice for distribution in seen for choice in distribution.choices]
        short = {(type(choice).__name__, choice): choice for choice in choices}
        return {"name": name, "type": "categorical", "values": list(short.values())}
    low, high = min(d.low for d in seen), max(d.high for d in seen)
    scale = {"scale": "log"} if all(d.log for d in seen) and low > 0 else {}
    if isinstance(first, IntDistribution):
        step = math.gcd(*[d.step for d in seen], *[d.low - low for d in seen])
        return {"name": name, "type": "int", "min": low, "max": low + (high - low) // step * step, **scale,
                **({"step": step} if step > 1 else {})}
    steps = {d.step for d in seen}
    if len(steps) == 1 and None not in steps and len({d.low for d in seen}) == 1 and (high - low) / first.step < VALUES:
        grid = [low + k * first.step for k in range(round((high - low) / first.step) + 1)]
        for value in values:  # as the trials have them, to the last bit
            k = round((value - low) / first.step)
            if 0 <= k < len(grid):
                grid[k] = value
        return {"name": name, "type": "discrete", "values": grid}
    return {"name": name, "type": "double", "min": low, "max": high, **scale}


def condition(name: str, trials: Sequence[Any], others: Sequence[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """The parameter, and its values, with which this one is always there, and without which it never is."""
    for other in others:
        if other["type"] == "double":
            continue
        there = {key(t.params[other["name"]]) for t in trials if name in t.params and other["name"] in t.params}
        if any(name in t.params and other["name"] not in t.params for t in trials):
            continue
        if not any(name not in t.params and key(t.params.get(other["name"])) in there and other["name"] in t.params
                   for t in trials):
            return {other["name"]: [value for value in values_of(other) if key(value) in there]}
    return None


def key(value: Any) -> Tuple[str, Any]:
    return type(value).__name__, value


def values_of(parameter: Dict[str, Any]) -> List[Any]:
    if "values" in parameter:
        return list(parameter["values"])
    return list(range(parameter["min"], parameter["max"] + 1, parameter.get("step", 1)))


def space_of(trials: Sequence[Any], notes: List[str]) -> List[Dict[str, Any]]:
    """Parameters that every trial has come first, so that conditions refer to earlier ones."""
    names = sorted({name for t in trials for name in t.params},
                   key=lambda name: (-sum(name in t.params for t in trials), name))
    finished = [t for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    parameters: List[Dict[str, Any]] = []
    for name in names:
        parameter = union(name, [t.distributions[name] for t in trials if name in t.params],
                          [t.params[name] for t in trials if name in t.params])
        if any(name not in t.params for t in finished):
            when = condition(name, finished, parameters)
            if when is not None:
                parameter["when"] = when
            else:
                middle = next(t.params[name] for t in trials if name in t.params)
                parameter["default"] = middle
                notes.append(f"{name}: some trials lack it, and no other parameter says when; these get {middle!r}")
        parameters.append(parameter)
    return parameters


def point_of(trial: Any, parameters: Sequence[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """None when a parameter is missing that has no default."""
    point: Dict[str, Any] = {}
    for parameter in parameters:
        name = parameter["name"]
        active = all(other in point and key(point[other]) in map(key, values)
                     for other, values in parameter.get("when", {}).items())
        if not active:
            continue
        if name not in trial.params and "default" not in parameter:
            return None
        point[name] = trial.params.get(name, parameter.get("default"))
    return point


def result_of(trial: Any, names: Sequence[str], limits: int, shift: int) -> Dict[str, Any]:
    """State, values, reason and curve; ValueError for what cannot be said here."""
    curve = [{"step": step + shift, "value": value} for step, value in sorted(trial.intermediate_values.items())
             if math.isfinite(value)] if len(names) == 1 else []
    body: Dict[str, Any] = {"curve": curve} if curve else {}
    if trial.user_attrs:
        body["metadata"] = dict(trial.user_attrs)
    if trial.state == TrialState.COMPLETE:
        values = dict(zip(names, trial.values))
        if limits:
            values.update(zip((f"constraint_{k}" for k in range(limits)), trial.system_attrs.get("constraints") or ()))
        if len(values) < len(names) + limits:
            raise ValueError("it lacks its constraints")
        if not all(map(math.isfinite, values.values())):
            return {**body, "state": "infeasible", "reason": f"the value was {trial.values}"}
        return {**body, "state": "completed", **({"value": trial.values[0]} if len(values) == 1 else {"values": values})}
    if trial.state == TrialState.PRUNED:
        return {**body, "state": "stopped"} if curve else {**body, "state": "failed", "reason": "pruned"}
    if trial.state == TrialState.FAIL:
        reason = trial.system_attrs.get("fail_reason")
        return {**body, "state": "failed", **({"reason": str(reason)[:1000]} if reason else {})}
    return {"state": "queued", **{name: value for name, value in body.items() if name != "curve"}}


def plan(source: Any, name: Optional[str] = None) -> Plan:
    """Of an optuna.Study."""
    trials: Sequence[Any] = source.get_trials(deepcopy=False)
    notes: List[str] = []
    parameters = space_of(trials, notes)
    if not parameters:
        raise ValueError(f"{source.study_name}: no trial has a parameter")
    goals = [direction.name.lower() for direction in source.directions]
    names = (getattr(source, "metric_names", None) or
             (["value"] if len(goals) == 1 else [f"value_{k}" for k in range(len(goals))]))
    limits = max((len(t.system_attrs.get("constraints") or ()) for t in trials), default=0)
    metrics = [{"name": name, "goal": goal} for name, goal in zip(names, goals)]
    metrics += [{"name": f"constraint_{k}", "goal": "constrain", "max": 0} for k in range(limits)]
    spec: Dict[str, Any] = {"metrics": metrics, "space": {"type": "parameters", "parameters": parameters},
                            "notes": f"Imported from Optuna's study {source.study_name!r}."}
    steps = [step for t in trials for step in t.intermediate_values] if len(metrics) == 1 else []
    shift = 1 if steps and min(steps) < 1 else 0
    if steps:
        spec["stopping"] = {"rule": "none", "epochs": max(steps) + shift}
        if shift:
            notes.append("steps began with 0; here they begin with 1")
    rows = []
    for trial in trials:
        point = point_of(trial, parameters)
        try:
            if point is None:
                raise ValueError("it lacks a parameter")
            rows.append({"number": trial.number + 1, "point": point, "external_id": identity(source.study_name, trial.number),
                         **result_of(trial, names, limits, shift)})
        except ValueError as reason:
            notes.append(f"trial {trial.number} ({trial.state.name.lower()}) is left out: {reason}")
    return Plan(name or source.study_name.replace("/", "-"), spec, rows, notes)


def identity(study: str, number: int) -> str:
    short = study if len(study) <= 80 else hashlib.sha256(study.encode()).hexdigest()[:32]
    return f"optuna/{short}/{number}"


def apply(client: Client, made: Plan, dry_run: bool = False) -> Dict[str, Any]:
    """Imports; a second time nothing happens but to what is new.  With dry_run nothing at all: what there is to import,
    checked by the service where the study is there already."""
    total = {"imported": 0, "queued": 0, "duplicates": 0, "skipped": 0, "dry_run": dry_run}
    spec = {member: value for member, value in made.spec.items() if member != "space"}
    study = Study(client, made.name, spec, None)
    if study.body and not dry_run:
        check(study, made)
    elif not study.body:
        if dry_run:
            return {**total, "imported": len(made.trials)}
        study.space.learn(made.spec["space"]["parameters"])
        study._take(study._ensure())
    for first in range(0, len(made.trials), PART):
        part = client.call("POST", f"{study.path}/import" + asked({"dry_run": dry_run or None}),
                           {"trials": made.trials[first:first + PART]})
        for member in ("imported", "queued", "duplicates", "skipped"):
            total[member] += part[member]
    return {**total, "study": study.id}


def check(study: Study, made: Plan) -> None:
    """The study of an earlier import has the same metrics; its space grows by what is new."""
    if study["metrics"] != made.spec["metrics"]:
        raise SpaceDiffers(409, {"code": "study_differs", "detail": f"{study.name!r} is there with other metrics"})
    growth = [{member: value for member, value in parameter.items() if member != "values" or parameter["type"] == "categorical"}
              for parameter in made.spec["space"]["parameters"]]
    if made.spec["space"]["parameters"] != [kind.declared for kind in study.space.kinds.values()]:
        study._take(study._post("/space/grow", {"parameters": growth}))
