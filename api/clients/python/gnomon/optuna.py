"""For programs that stay with Optuna: its suggestions, and its decisions when to stop, from the service.

    study = optuna.create_study(sampler=gnomon.optuna.GnomonSampler(), pruner=gnomon.optuna.GnomonPruner(epochs=30))"""
from __future__ import annotations

import math
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from optuna.distributions import CategoricalDistribution, FloatDistribution, distribution_to_json
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler, IntersectionSearchSpace, RandomSampler
from optuna.trial import TrialState

from .errors import Conflict, LeaseLost
from .migrate import range_of, union
from .study import Client, Study, Trial

OBSERVATIONS = 10000  # in one request
CONSTRAINTS = "constraints"  # where Optuna keeps them


def client_of(url: Optional[str], token: Optional[str], client: Optional[Client]) -> Client:
    from . import connect
    return client if client is not None else connect(url, token)


class Point:
    """A search space in the contract's words, and its points both ways.  A choice goes by its place: Optuna tells apart what
    JSON does not."""

    def __init__(self, space: Mapping[str, Any]) -> None:
        self.space = dict(space)
        self.declared: List[Dict[str, Any]] = []
        for name, distribution in self.space.items():
            if isinstance(distribution, CategoricalDistribution):
                self.declared.append({"name": name, "type": "categorical", "values": list(range(len(distribution.choices)))})
            else:
                self.declared.append(union(name, [range_of(distribution_to_json(distribution))]))

    def encode(self, trial: Any) -> Optional[Dict[str, Any]]:
        """None where the trial lacks a parameter, or has it outside."""
        point = {}
        for name, distribution in self.space.items():
            if name not in trial.params:
                return None
            value = trial.params[name]
            if isinstance(distribution, CategoricalDistribution):
                value = int(distribution.to_internal_repr(value))
            elif not distribution._contains(value):
                return None
            point[name] = value
        return point

    def decode(self, point: Mapping[str, Any]) -> Dict[str, Any]:
        values: Dict[str, Any] = {}
        for name, distribution in self.space.items():
            value: Any = point[name]
            if isinstance(distribution, CategoricalDistribution):
                value = distribution.choices[value]
            elif isinstance(distribution, FloatDistribution):
                value = min(max(float(value), distribution.low), distribution.high)
            values[name] = value
        return values


class GnomonSampler(BaseSampler):
    """Every suggestion is one request that carries what Optuna knows; the service keeps nothing.  Parameters that only some
    trials have, and the first trial, are drawn by chance, as Optuna's own samplers do."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, *, client: Optional[Client] = None,
                 algorithm: Union[str, Mapping[str, Any], None] = None, seed: Optional[int] = None,
                 constraints_func: Optional[Callable[[Any], Sequence[float]]] = None) -> None:
        self.client = client_of(url, token, client)
        self.algorithm = {"name": algorithm} if isinstance(algorithm, str) else algorithm
        self.seed, self.constraints_func = seed, constraints_func
        self._chance = RandomSampler(seed=seed)
        self._common = IntersectionSearchSpace()

    def reseed_rng(self) -> None:
        self._chance.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> Dict[str, Any]:
        common: Dict[str, Any] = self._common.calculate(study)
        return {name: distribution for name, distribution in common.items() if not distribution.single()}

    def sample_relative(self, study: Any, trial: Any, search_space: Dict[str, Any]) -> Dict[str, Any]:
        if not search_space:
            return {}
        trials = study.get_trials(deepcopy=False)
        points = Point(search_space)
        limits = max((len(t.system_attrs.get(CONSTRAINTS) or ()) for t in trials), default=0)
        names = ["value"] if len(study.directions) == 1 else [f"value_{k}" for k in range(len(study.directions))]
        body: Dict[str, Any] = {
            "metrics": [{"name": name, "goal": direction.name.lower()} for name, direction in zip(names, study.directions)] +
                       [{"name": f"constraint_{k}", "goal": "constrain", "max": 0} for k in range(limits)],
            "space": {"type": "parameters", "parameters": points.declared},
            "observations": [], "pending": []}
        if self.algorithm:
            body["algorithm"] = self.algorithm
        if self.seed is not None:
            body["seed"] = self.seed
        for other in trials:
            point = points.encode(other)
            if point is None:
                continue
            if other.state == TrialState.RUNNING and other.number != trial.number:
                body["pending"].append(point)
            elif other.state.is_finished():
                result = observed(other, names, limits)
                if result is not None:
                    body["observations"].append({"point": point, **result})
        body["observations"] = body["observations"][-OBSERVATIONS:]
        body["pending"] = body["pending"][-1000:]
        try:
            reply = self.client.call("POST", "/v1/suggest", body)
        except Conflict as refused:
            if refused.code != "search_space_exhausted":
                raise
            return {}  # every point has been tried: any may be tried again
        return points.decode(reply["suggestions"][0]["point"])

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        return self._chance.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Optional[Sequence[float]]) -> None:
        if self.constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            limits = [float(value) for value in self.constraints_func(trial)]
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, limits)
        self._chance.after_trial(study, trial, state, values)


def observed(trial: Any, names: Sequence[str], limits: int) -> Optional[Dict[str, Any]]:
    """What came of a finished trial, as an observation; a pruned one has its last value."""
    if trial.state == TrialState.FAIL:
        return {"state": "failed"}
    given = trial.values
    if given is None and trial.intermediate_values and len(names) == 1:
        given = [trial.intermediate_values[max(trial.intermediate_values)]]
    if given is None:
        return None
    bounds = trial.system_attrs.get(CONSTRAINTS) or ()
    values = dict(zip([*names, *(f"constraint_{k}" for k in range(limits))], [*given, *bounds]))
    if not all(map(math.isfinite, values.values())) or len(values) < len(names) + limits:
        return {"state": "infeasible"}
    return {"values": values}


class GnomonPruner(BasePruner):
    """Stops trials by a rule of the service: `median`, `asha`, others.  What Optuna's trials report goes into a study
    there, named as Optuna's is, in which a point is the number of a trial."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, *, epochs: int, rule: str = "median",
                 client: Optional[Client] = None, **options: Any) -> None:
        self.client = client_of(url, token, client)
        self.stopping = {"rule": rule, "epochs": epochs, **options}
        self._studies: Dict[str, Study] = {}
        self._held: Dict[str, Dict[int, Trial]] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> Dict[str, Any]:
        return {"client": self.client, "stopping": self.stopping}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(client=state["client"], **state["stopping"])  # type: ignore[misc]

    def _study(self, study: Any) -> Study:
        name = study.study_name
        if name not in self._studies:
            self._studies[name] = self.client.study(
                f"{name} (stopping)"[-200:], {"trial": (0, 999999)}, goal=study.direction.name.lower(), algorithm="random",
                stopping=self.stopping, seed=0, stop_when={"failures_in_a_row": 0})  # Optuna says when it is over
            self._held[name] = {}
        return self._studies[name]

    def prune(self, study: Any, trial: Any) -> bool:
        if not trial.intermediate_values:
            return False
        with self._lock:
            ours, held = self._study(study), self._held[study.study_name]
            for number in [number for number in held if number != trial.number]:
                self._end(study, held, number)
            if trial.number not in held:
                held[trial.number] = self._begin(ours, trial.number)
            mine = held[trial.number]
        if mine.state != "running":
            return True
        shift = 1 if min(trial.intermediate_values) < 1 else 0
        known = dict(mine.curve)
        for step, value in sorted(trial.intermediate_values.items()):
            if step + shift not in known and math.isfinite(value) and step + shift > max(known, default=0):
                if mine.should_stop(step + shift, value):
                    return True
        return False

    @staticmethod
    def _begin(ours: Study, number: int) -> Trial:
        worker = f"optuna trial {number}"
        if not any(True for _ in ours.trials(worker=worker)):
            ours.enqueue({"trial": number})
        return ours.ask(worker=worker, fixed={"trial": number})

    @staticmethod
    def _end(study: Any, held: Dict[int, Trial], number: int) -> None:
        """What has ended in Optuna ends here: rules go by completed trials."""
        there = study._storage.get_trial(study._storage.get_trial_id_from_study_id_trial_number(study._study_id, number))
        if not there.state.is_finished():
            return
        mine = held.pop(number)
        if mine.state == "running":
            try:
                if there.state == TrialState.COMPLETE and math.isfinite(there.value):
                    mine.tell(there.value)
                else:
                    mine.fail(there.state.name.lower())
            except LeaseLost:
                pass


__all__ = ["GnomonPruner", "GnomonSampler"]
