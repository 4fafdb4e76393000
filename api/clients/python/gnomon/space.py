"""Spaces and metrics as plain Python, and the values of points as the objects that were given.

    (1e-5, 0.1, "log")    a number; two ints: an integer       range(16, 65, 16)    integers with a step
    (0.0, 1.0, 0.05)      a number with a step; of two ints and a whole step an integer
    [16, 32, 64]          one of these numbers, in order       ["adam", None, f]    one of these, whatever they are
    3, "adam", True       a constant                           {"is": ..., "when": {"opt": ["sgd"]}, "default": ...}
    {"type": "double", "min": ...}                             a parameter as the contract has it"""
from __future__ import annotations

import json
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

Param = Any  # float, int, str, bool, None, or one of the choices that were given
Metrics = Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """A number of numpy as one of Python; all else as it is."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value


def key(value: Any) -> Tuple[str, Any]:
    """1, 1.0, "1" and True are four choices; a list is its text."""
    return type(value).__name__, json.dumps(value) if isinstance(value, list) else value


class Kind:
    """One parameter: its declaration in the contract, and what its names stand for."""

    def __init__(self, declared: Dict[str, Any], objects: Optional[Mapping[Any, Any]] = None) -> None:
        self.declared, self.objects = declared, dict(objects or {})

    def decode(self, value: Any) -> Any:
        return self.objects.get(key(value), value)

    def has(self, value: Any) -> bool:
        """Whether a reply may say that the parameter has this value; a type that this client does not know has none."""
        if "values" in self.declared:
            return any(key(value) == key(one) or is_number(value) and is_number(one) and value == one
                       for one in self.declared["values"])
        whole = self.declared["type"] == "int"
        return (whole or self.declared["type"] == "double") and is_number(value) and (
            self.declared["min"] <= value <= self.declared["max"] and not (whole and value != int(value)))

    def encode(self, value: Any) -> Any:
        """The name of an object; a number, a name, or a list that is one of the values stays."""
        return value if isinstance(value, list) and value in self.declared.get("values", ()) else name_of(value)


def name_of(item: Any) -> Any:
    """What the service calls a choice: the choice itself where JSON can say it."""
    item = plain(item)
    if item is None or isinstance(item, (bool, str, int)) or isinstance(item, float) and math.isfinite(item):
        return item
    return str(getattr(item, "__name__", None) or repr(item))[:256]


def choice(name: str, items: Sequence[Any]) -> Kind:
    if items and all(is_number(plain(item)) for item in items):
        values = [plain(item) for item in items]
        if not all(map(math.isfinite, values)):
            raise ValueError(f"space[{name!r}]: NaN and infinity are no choices: {values}")
        return Kind({"name": name, "type": "discrete", "values": values}, {key(named(v)): v for v in values})
    names = [name_of(item) for item in items]
    if len(set(map(key, names))) < len(names):
        raise ValueError(f"space[{name!r}]: two choices have the same name: {names}")
    return Kind({"name": name, "type": "categorical", "values": names},
                {key(short): item for short, item in zip(names, items) if short is not item})


def named(value: float) -> float:
    """As the service shows a number of a list: whole ones as integers."""
    return int(value) if value == int(value) else value


def interval(name: str, given: Sequence[Any]) -> Kind:
    bounds = [plain(bound) for bound in given[:2]]
    if len(given) not in (2, 3) or not all(map(is_number, bounds)):
        raise ValueError(f"space[{name!r}]: a range is (low, high), (low, high, 'log') or (low, high, step), "
                         f"not {given!r}; choices are a list")
    if not all(map(math.isfinite, bounds)):
        raise ValueError(f"space[{name!r}]: a range is finite, not {given!r}")
    more = plain(given[2]) if len(given) == 3 else "linear"
    has_step = is_number(more)
    whole = all(isinstance(number, int) for number in bounds + [more] * has_step)
    declared = {"name": name, "type": "int" if whole else "double", "min": bounds[0], "max": bounds[1]}
    if len(given) == 3:
        declared["step" if has_step else "scale"] = more
    return Kind(declared)


def parameter(name: str, given: Any) -> Kind:
    """One entry of a space."""
    if callable(getattr(given, "tolist", None)):  # an array of numpy, or one of its numbers
        given = given.tolist()
    if isinstance(given, Mapping):
        if "type" in given:
            return Kind({"name": name, **given})
        if "is" not in given:
            raise ValueError(f"space[{name!r}]: a dict describes one parameter and has \"is\" or \"type\"; spaces do not nest, so give "
                             "each parameter a name of its own")
        kind = parameter(name, given["is"])
        kind.declared.update({member: value for member, value in given.items() if member not in ("is", "when", "default")})
        if "default" in given:
            kind.declared["default"] = kind.encode(given["default"])
        if "when" in given:
            kind.declared["when"] = ([listed(one) for one in given["when"]] if isinstance(given["when"], (list, tuple))
                                     else listed(given["when"]))
        return kind
    if isinstance(given, range) and len(given) > 1:
        low, high = min(given), max(given)
        return Kind({"name": name, "type": "int", "min": low, "max": high, "step": abs(given.step)})
    if isinstance(given, (set, frozenset)):
        given = sorted(given, key=lambda item: str(name_of(plain(item))))  # a set has another order in each process
    if isinstance(given, (list, range)):
        return choice(name, list(given))
    if isinstance(given, tuple):
        return interval(name, given)
    return choice(name, [given])


def listed(conditions: Mapping[str, Any]) -> Dict[str, Any]:
    """Each with a list of values: {"opt": "sgd"} means ["sgd"].  {"not": ...} and {"min": ..., "max": ...} stay what they are."""
    def of(values: Any) -> Any:
        if isinstance(values, Mapping):
            return {**values, "not": of(values["not"])} if "not" in values else dict(values)
        return list(values) if isinstance(values, (list, tuple, set, range)) else [values]
    return {other: of(values) for other, values in conditions.items()}


class Space:
    """The parameters of a study by name, and how their values look in Python."""

    def __init__(self, given: Optional[Mapping[str, Any]] = None) -> None:
        self.kinds: Dict[str, Kind] = {}
        self._objects: Dict[str, Dict[Any, Any]] = {}
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"a space is a dict, {{\"x\": (0.0, 1.0)}}, and not {given!r:.100}")
        self.add({name: parameter(name, what) for name, what in (given or {}).items()})
        for kind in self.kinds.values():
            when = kind.declared.get("when", {})
            for conditions in when if isinstance(when, list) else [when]:
                conditions.update(self.named(conditions))

    def named(self, conditions: Mapping[str, Any]) -> Dict[str, Any]:
        """Conditions in the service's words."""
        def of(name: str, values: Any) -> Any:
            if isinstance(values, Mapping):
                return {word: of(name, one) if word == "not" else plain(one) for word, one in values.items()}
            return [self.kinds[name].encode(value) if name in self.kinds else value for value in values]
        return {name: of(name, values) for name, values in conditions.items()}

    def declared(self) -> List[Dict[str, Any]]:
        return [kind.declared for kind in self.kinds.values()]

    def add(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = {**self.kinds, **kinds}
        self._objects.update({name: kind.objects for name, kind in kinds.items()})

    def learn(self, parameters: Sequence[Dict[str, Any]]) -> None:
        """What the service has; objects that were given here stay known."""
        self.kinds = {p["name"]: Kind(p, self._objects.get(p["name"])) for p in parameters}

    def misfit(self, point: Mapping[str, Any]) -> Optional[str]:
        """The first parameter of a reply's point that the space does not have, or not with that value."""
        return next((name for name, value in point.items() if name not in self.kinds or not self.kinds[name].has(value)), None)

    def decode(self, point: Mapping[str, Any]) -> Dict[str, Param]:
        return {name: self.kinds[name].decode(value) if name in self.kinds else value for name, value in point.items()}

    def encode(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: self.kinds[name].encode(value) if name in self.kinds else plain(value)
                for name, value in params.items()}


def metric_list(metrics: Metrics) -> List[Dict[str, Any]]:
    """{"accuracy": "maximize", "latency": {"max": 30}, "ph": {"target": 7.4}, "tg": {"range": [60, 80]}, "memory": "track"}
    as the contract has it."""
    if not isinstance(metrics, Mapping):
        if isinstance(metrics, str) or not all(isinstance(metric, Mapping) for metric in metrics):
            raise ValueError(f"metrics have their goals beside them, as in {{\"error\": \"minimize\", \"cost\": \"minimize\"}}, and not {metrics!r:.100}")
        return [dict(metric) for metric in metrics]
    return [{"name": name, **goal_of(what)} for name, what in metrics.items()]


def goal_of(what: Union[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """What is to be done with a metric: a word, {"target": 7.4}, {"range": [60, 80]}, or the bounds of a constraint."""
    if isinstance(what, str):
        return {"goal": what}
    if not isinstance(what, Mapping):
        raise ValueError(f"a goal is \"minimize\", \"maximize\" or a dict such as {{\"target\": 7.4}}, and not {what!r:.100}; several "
                         "objectives are metrics={\"error\": \"minimize\", \"cost\": \"minimize\"}")
    if "range" in what:
        low, high = what["range"]
        return {"goal": "range", "min": low, "max": high, **{key: value for key, value in what.items() if key != "range"}}
    return {"goal": "target" if "target" in what else "constrain", **what}
