"""A study of Optuna as a study here: its space, its trials in every state, curves, attributes, constraints.  A database is
read as it is, without Optuna, which would make its tables where there are none; what is none, by Optuna."""
from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sqlite3
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import quote

from .errors import GnomonError, SpaceDiffers
from .space import key
from .study import Client, Study, asked

PART = 2000  # trials in one request


class Range(NamedTuple):
    """A distribution of Optuna's, of whatever version."""

    kind: str  # Float, Int or Categorical
    low: Any = None
    high: Any = None
    log: bool = False
    step: Any = None
    choices: Tuple[Any, ...] = ()

    def value(self, number: float) -> Any:
        """Of what the store keeps."""
        return self.choices[int(number)] if self.choices else int(number) if self.kind == "Int" else float(number)


class Old(NamedTuple):
    """A trial of Optuna's."""

    number: int
    state: str
    values: Optional[List[float]]
    params: Dict[str, Any]
    ranges: Dict[str, Range]
    curve: Dict[int, float]
    user: Dict[str, Any]
    system: Dict[str, Any]


class History(NamedTuple):
    name: str
    goals: List[str]
    metrics: Optional[List[str]]
    trials: List[Old]


class Plan(NamedTuple):
    """What an import sends, and what it leaves out."""

    name: str
    spec: Dict[str, Any]
    trials: List[Dict[str, Any]]
    notes: List[str]


def range_of(text: str) -> Range:
    """UniformDistribution and the like are of Optuna before 3."""
    said = json.loads(text)
    name, has = said["name"], said["attributes"]
    kind = "Categorical" if name.startswith("Cat") else "Int" if name.startswith("Int") else "Float"
    if kind == "Categorical":
        return Range(kind, choices=tuple(has["choices"]))
    step = has.get("step", has.get("q")) or (1 if kind == "Int" else None)
    return Range(kind, has["low"], has["high"], bool(has.get("log", "Log" in name)), step)


def from_optuna(study: Any) -> History:
    """Of an optuna.Study."""
    from optuna.distributions import distribution_to_json
    known: Dict[Any, Range] = {}

    def of(distribution: Any) -> Range:
        if distribution not in known:
            known[distribution] = range_of(distribution_to_json(distribution))
        return known[distribution]

    trials = [Old(t.number, t.state.name.lower(), None if t.values is None else list(t.values), dict(t.params),
                  {name: of(distribution) for name, distribution in t.distributions.items()}, dict(t.intermediate_values),
                  dict(t.user_attrs), dict(t.system_attrs)) for t in study.get_trials(deepcopy=False)]
    return History(study.study_name, [goal.name.lower() for goal in study.directions],
                   study._storage.get_study_system_attrs(study._study_id).get("study:metric_names"), trials)


Ask = Callable[..., Iterable[Any]]  # a statement, and what its :study is


class Journal:
    """What a file of Optuna's JournalStorage says, line by line: operations in the order in which they count."""

    STATES = ("running", "complete", "pruned", "fail", "waiting")

    def __init__(self) -> None:
        self.studies: List[Optional[History]] = []
        self.trials: List[Tuple[int, Old]] = []  # of which study; by their ids, which go on from study to study

    def apply(self, line: Mapping[str, Any]) -> None:
        operation = line["op_code"]
        if operation == 0:
            if line["study_name"] not in [study.name for study in self.studies if study is not None]:
                goals = ["maximize" if direction == 2 else "minimize" for direction in line["directions"]]
                self.studies.append(History(line["study_name"], goals, None, []))
        elif operation in (1, 2, 3, 4):
            self.of_study(operation, line["study_id"], line)
        elif line["trial_id"] < len(self.trials):
            self.of_trial(operation, line["trial_id"], line)

    def of_study(self, operation: int, study: int, line: Mapping[str, Any]) -> None:
        found = self.studies[study] if study < len(self.studies) else None
        if found is None:
            return
        if operation == 1:
            self.studies[study] = None
        elif operation == 3 and "study:metric_names" in line["system_attr"]:
            self.studies[study] = found._replace(metrics=line["system_attr"]["study:metric_names"])
        elif operation == 4:
            ranges = {name: range_of(text) for name, text in line.get("distributions", {}).items()}
            values = line.get("values") or ([line["value"]] if line.get("value") is not None else None)
            number = sum(of == study for of, _ in self.trials)
            self.trials.append((study, Old(number, self.STATES[line.get("state", 0)], values,
                                           {name: ranges[name].value(value) for name, value in line.get("params", {}).items()},
                                           ranges, {int(step): value for step, value in line.get("intermediate_values", {}).items()},
                                           dict(line.get("user_attrs", {})), dict(line.get("system_attrs", {})))))

    def of_trial(self, operation: int, at: int, line: Mapping[str, Any]) -> None:
        study, trial = self.trials[at]
        if trial.state in ("complete", "pruned", "fail"):
            return
        if operation == 5:
            trial.ranges[line["param_name"]] = kind = range_of(line["distribution"])
            trial.params[line["param_name"]] = kind.value(line["param_value_internal"])
        elif operation == 6:
            self.trials[at] = study, trial._replace(state=self.STATES[line["state"]], values=line["values"] or trial.values)
        elif operation == 7:
            trial.curve[line["step"]] = line["intermediate_value"]
        elif operation in (8, 9):
            (trial.user if operation == 8 else trial.system).update(line["user_attr" if operation == 8 else "system_attr"])


def from_journal(path: str, names: Sequence[str] = ()) -> Iterator[History]:
    """The studies of a journal (JournalFileStorage), or those of these names; KeyError for one that is not there."""
    journal = Journal()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # the last one may not be whole yet
                journal.apply(json.loads(line))
    found = {study.name: study._replace(trials=[trial for of, trial in journal.trials if of == at])
             for at, study in enumerate(journal.studies) if study is not None}
    for name in names or found:
        yield found[name]


def is_journal(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(16).lstrip().startswith(b"{")


def from_sqlite(path: str, names: Sequence[str] = ()) -> Iterator[History]:
    """The studies of a file, or those of these names; KeyError for one that is not there."""
    with contextlib.closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, isolation_level=None)) as store:
        store.execute("BEGIN")  # workers may be at it
        yield from histories_in(lambda statement, **given: store.execute(statement, given), names)


def from_database(url: str, names: Sequence[str] = ()) -> Iterator[History]:
    """The same of any other database, by SQLAlchemy, with which Optuna wrote it."""
    import sqlalchemy
    try:
        engine = sqlalchemy.create_engine(url, isolation_level="REPEATABLE READ")
        if "@" in (engine.url.host or ""):
            raise ValueError("the rest of a password")
    except (ValueError, sqlalchemy.exc.ArgumentError):  # its words have the address, password included
        raise ValueError("not an address of a database, such as postgresql://USER:PASSWORD@HOST/NAME: an @ of a password is %40") from None
    try:
        with engine.connect() as store:
            yield from histories_in(lambda statement, **given: store.execute(sqlalchemy.text(statement), given), names)
    except sqlalchemy.exc.SQLAlchemyError as failure:
        said = str(failure).partition("\n")[0]
        raise ValueError(said.replace(str(engine.url.password or "***"), "***")) from None
    finally:
        engine.dispose()


def histories_in(ask: Ask, names: Sequence[str]) -> Iterator[History]:
    ids = {name: study for name, study in ask("SELECT study_name, study_id FROM studies ORDER BY study_id")}
    for name in names or ids:
        yield history_in(ask, name, ids[name])


def history_in(ask: Ask, name: str, study: int) -> History:
    ranges: Dict[str, Range] = {}
    special = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}

    def rows(columns: str, table: str, order: str) -> Iterable[Any]:
        return ask(f"SELECT x.trial_id, {columns} FROM {table} x JOIN trials t ON t.trial_id = x.trial_id "
                   f"WHERE t.study_id = :study ORDER BY {order}", study=study)

    trials = {key: Old(number, state.lower(), None, {}, {}, {}, {}, {}) for key, number, state in ask(
        "SELECT trial_id, number, state FROM trials WHERE study_id = :study ORDER BY number", study=study)}
    for key, parameter, number, text in rows("param_name, param_value, distribution_json", "trial_params", "param_id"):
        if text not in ranges:
            ranges[text] = range_of(text)
        trials[key].ranges[parameter] = ranges[text]
        trials[key].params[parameter] = ranges[text].value(number)
    for key, value, kind in rows("value, value_type", "trial_values", "objective"):
        trials[key] = trials[key]._replace(values=[*(trials[key].values or ()), special.get(kind, value)])
    for key, step, value, kind in rows("step, intermediate_value, intermediate_value_type", "trial_intermediate_values", "step"):
        trials[key].curve[step] = special.get(kind, value)
    for table, member in (("trial_user_attributes", "user"), ("trial_system_attributes", "system")):
        for key, attribute, text in rows("x.key, value_json", table, "1"):
            getattr(trials[key], member)[attribute] = json.loads(text)
    goals = [goal.lower() for goal, in ask(
        "SELECT direction FROM study_directions WHERE study_id = :study ORDER BY objective", study=study)]
    said = {key: text for key, text in ask(
        "SELECT x.key, value_json FROM study_system_attributes x WHERE study_id = :study", study=study)}
    metrics = json.loads(said["study:metric_names"]) if "study:metric_names" in said else None
    return History(name, goals, metrics, list(trials.values()))


def union(name: str, seen: Sequence[Range], notes: Optional[List[str]] = None) -> Dict[str, Any]:
    """The parameter that holds all these distributions; what Optuna says of one may change from trial to trial."""
    first = seen[-1]
    if first.kind == "Categorical":
        short = {key(choice): choice for one in seen for choice in one.choices}
        return {"name": name, "type": "categorical", "values": list(short.values())}
    low, high = min(one.low for one in seen), max(one.high for one in seen)
    scale = {"scale": "log"} if all(one.log for one in seen) and low > 0 else {}
    if first.kind == "Int":
        step = math.gcd(*[one.step for one in seen], *[one.low - low for one in seen])
        return {"name": name, "type": "int", "min": low, "max": low + (high - low) // step * step, **scale,
                **({"step": step} if step > 1 else {})}
    steps = {one.step for one in seen}
    is_even = len(steps) == 1 and first.step and len({one.low for one in seen}) == 1
    if notes is not None and any(steps) and not is_even:
        notes.append(f"{name}: its step or where it begins changed from trial to trial; here it has none")
    if len({(one.low, one.high) for one in seen}) > 1 and notes is not None:
        notes.append(f"{name}: its range changed from trial to trial; here it is the widest, {low!r} to {high!r}")
    return {"name": name, "type": "double", "min": low, "max": high, **({"step": first.step} if is_even else scale)}


def condition(name: str, trials: Sequence[Old], others: Sequence[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """The parameter, and its values, with which this one is always there, and without which it never is.  What has failed or
    runs may lack it because it did not come so far."""
    for other in others:
        if other["type"] == "double":
            continue
        there = {key(t.params[other["name"]]) for t in trials if name in t.params and other["name"] in t.params}
        if any(name in t.params and other["name"] not in t.params for t in trials):
            continue
        if not any(name not in t.params and key(t.params.get(other["name"])) in there and other["name"] in t.params
                   for t in finished(trials)):
            return {other["name"]: [value for value in values_of(other) if key(value) in there]}
    return None


def finished(trials: Sequence[Old]) -> List[Old]:
    return [t for t in trials if t.state in ("complete", "pruned")]


def values_of(parameter: Dict[str, Any]) -> List[Any]:
    if "values" in parameter:
        return list(parameter["values"])
    return list(range(parameter["min"], parameter["max"] + 1, parameter.get("step", 1)))


def space_of(trials: Sequence[Old], notes: List[str]) -> List[Dict[str, Any]]:
    """Parameters that every trial has come first, so that conditions refer to earlier ones."""
    names = sorted({name for t in trials for name in t.params},
                   key=lambda name: (-sum(name in t.params for t in trials), name))
    parameters: List[Dict[str, Any]] = []
    for name in names:
        parameter = union(name, [t.ranges[name] for t in trials if name in t.params], notes)
        if any(name not in t.params for t in finished(trials)):
            when = condition(name, trials, parameters)
            if when is not None:
                parameter["when"] = when
            else:
                middle = next(t.params[name] for t in trials if name in t.params)
                parameter["default"] = middle
                notes.append(f"{name}: some trials lack it, and no other parameter says when; these get {middle!r}")
        parameters.append(parameter)
    return parameters


def has(parameter: Mapping[str, Any], value: Any) -> bool:
    """Whether the parameter can be this."""
    if parameter["type"] in ("categorical", "discrete"):
        return key(value) in map(key, parameter["values"])
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not parameter["min"] <= value <= parameter["max"]:
        return False
    steps = (value - parameter["min"]) / parameter.get("step", 1)
    return parameter["type"] == "double" and "step" not in parameter or abs(steps - round(steps)) < 1e-8


def wished(trial: Old, parameters: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """What enqueue_trial was told, of a trial that waits: Optuna keeps it in an attribute until the trial asks."""
    fixed = trial.system.get("fixed_params") if trial.state in ("waiting", "running") else None
    given = {**(fixed or {}), **trial.params}
    kinds = {parameter["name"]: parameter for parameter in parameters}
    for name, value in given.items():
        if name in kinds and not has(kinds[name], value):
            raise ValueError(f"no trial that ran may have {name} = {value!r}")
    return given


def plainly(value: Any, lost: List[str], where: str = "") -> Any:
    """An attribute as JSON has it: a number that is none becomes a text."""
    if isinstance(value, Mapping):
        return {str(name): plainly(one, lost, f"{where}/{name}") for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plainly(one, lost, f"{where}/{k}") for k, one in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        lost.append(where[1:])
        return str(value)
    return value


def point_of(trial: Old, parameters: Sequence[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
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


def result_of(trial: Old, names: Sequence[str], limits: int, shift: int) -> Dict[str, Any]:
    """State, values, reason and curve; ValueError for what cannot be said here."""
    curve: List[Dict[str, Any]] = [{"step": step + shift, "value": value} for step, value in sorted(trial.curve.items())
             if math.isfinite(value)] if len(names) == 1 else []
    body: Dict[str, Any] = {"curve": curve} if curve else {}
    if trial.user:
        body["metadata"] = plainly(trial.user, [])
    if trial.state == "complete" and trial.values:
        values = dict(zip(names, trial.values))
        if limits:
            values.update(zip((f"constraint_{k}" for k in range(limits)), trial.system.get("constraints") or ()))
        if len(values) < len(names) + limits:
            raise ValueError("it lacks its constraints")
        if not all(map(math.isfinite, values.values())):
            return {**body, "state": "infeasible", "reason": f"the value was {trial.values}"}
        result: Dict[str, Any] = {"value": trial.values[0]} if len(values) == 1 else {"values": values}
        return {**body, "state": "completed", **result}
    if trial.state == "pruned":
        return {**body, "state": "stopped"} if curve else {**body, "state": "failed", "reason": "pruned"}
    if trial.state == "fail":
        reason = trial.system.get("fail_reason")
        return {**body, "state": "failed", **({"reason": str(reason)[:1000]} if reason else {})}
    return {"state": "queued", **{name: value for name, value in body.items() if name != "curve"}}


def plan(source: Any, name: Optional[str] = None) -> Plan:
    """Of an optuna.Study, or of its History."""
    history = source if isinstance(source, History) else from_optuna(source)
    trials, goals = history.trials, history.goals
    notes: List[str] = []
    parameters = space_of(trials, notes)
    if not parameters:
        raise ValueError(f"{history.name}: no trial has a parameter")
    lost: List[str] = []
    plainly({trial.number: trial.user for trial in trials}, lost)
    notes += [f"trial {attribute.replace('/', ', attribute ', 1)} is no number, and comes as a text" for attribute in lost]
    names = history.metrics or (["value"] if len(goals) == 1 else [f"value_{k}" for k in range(len(goals))])
    limits = max((len(t.system.get("constraints") or ()) for t in trials), default=0)
    metrics: List[Dict[str, Any]] = [{"name": name, "goal": goal} for name, goal in zip(names, goals)]
    metrics += [{"name": f"constraint_{k}", "goal": "constrain", "max": 0} for k in range(limits)]
    spec: Dict[str, Any] = {"metrics": metrics, "space": {"type": "parameters", "parameters": parameters},
                            "notes": f"Imported from Optuna's study {history.name!r}."}
    steps = [step for t in trials for step in t.curve] if len(metrics) == 1 else []
    shift = 1 if steps and min(steps) < 1 else 0
    if steps:
        spec["stopping"] = {"rule": "none", "epochs": max(steps) + shift}
        if shift:
            notes.append("steps began with 0; here they begin with 1")
    rows = []
    for trial in trials:
        try:
            point = point_of(trial._replace(params=wished(trial, parameters)), parameters)
            if point is None:
                raise ValueError("it lacks a parameter")
            rows.append({"number": trial.number + 1, "point": point, "external_id": identity(history.name, trial.number),
                         **result_of(trial, names, limits, shift)})
        except ValueError as reason:
            notes.append(f"trial {trial.number} ({trial.state}) is left out: {reason}")
    return Plan(name or history.name.replace("/", "-"), spec, rows, notes)


def identity(study: str, number: int) -> str:
    short = study if len(study) <= 80 else hashlib.sha256(study.encode()).hexdigest()[:32]
    return f"optuna/{short}/{number}"


def apply(client: Client, made: Plan, dry_run: bool = False) -> Dict[str, Any]:
    """Imports; a second time nothing happens but to what is new.  With dry_run nothing at all: what there is to import,
    checked by the service where the study is there already."""
    total = {"imported": 0, "queued": 0, "duplicates": 0, "skipped": 0, "dry_run": dry_run}
    spec = {member: value for member, value in made.spec.items() if member != "space"}
    study = Study(client, made.name, spec, None)
    is_new = not study.body
    if study.body and not dry_run:
        check(study, made)
    elif not study.body:
        if dry_run:
            return {**total, "imported": len(made.trials), "queued": sum(row["state"] == "queued" for row in made.trials)}
        study.space.learn(made.spec["space"]["parameters"])
        study._take(study._ensure())
    try:
        for first in range(0, len(made.trials), PART):
            part = client.call("POST", f"{study.path}/import" + asked({"dry_run": dry_run or None}),
                               {"trials": made.trials[first:first + PART]})
            for member in ("imported", "queued", "duplicates", "skipped"):
                total[member] += part[member]
    except (GnomonError, ValueError):
        if is_new:  # it comes in whole, or leaves nothing behind
            study.delete()
        raise
    return {**total, "study": study.id}


def check(study: Study, made: Plan) -> None:
    """The study of an earlier import has the same metrics; its space grows by what is new."""
    if study["metrics"] != made.spec["metrics"]:
        raise SpaceDiffers(409, {"code": "study_differs", "detail": f"{study.name!r} is there with other metrics"})
    growth = [{member: value for member, value in parameter.items() if member != "values" or parameter["type"] == "categorical"}
              for parameter in made.spec["space"]["parameters"]]
    if made.spec["space"]["parameters"] != [kind.declared for kind in study.space.kinds.values()]:
        study._take(study._post("/space/grow", {"parameters": growth}))
