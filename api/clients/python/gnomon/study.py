"""Studies and trials: what the addresses of the service are in Python.  What the service answers is handed on as it is
(`Record`); the contract is written down in openapi.yaml and not again here."""
from __future__ import annotations

import math
import re
import threading
import time
import urllib.parse
import warnings
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Type,
                    Union)

from .errors import (Conflict, Finished, GnomonError, LeaseLost, NotFound, Paused, Pruned, SpaceDiffers, Unavailable, hint, said,
                     text_of)
from .lease import HEART
from .options import names_options
from .slot import Slot
from .space import Metrics, Param, Space, is_number, listed, metric_list, parameter, plain
from .transport import Transport, log, whole

if TYPE_CHECKING:
    from .loop import Outcome

Value = Union[float, Mapping[str, float], Sequence[float]]
WAIT_SECONDS = 30  # how long one request for a trial is held back by the service
AGAIN = ".  If the workers were killed, study.reclaim() takes back all that runs, to be handed out again"


class Record:
    """A reply: record.value or record["value"], dict(record).  A trial's `params` are the objects that were given."""

    def __init__(self, reply: Mapping[str, Any], params: Optional[Mapping[str, Param]] = None) -> None:
        self._reply = dict(reply)
        if params is not None:
            self._reply["params"] = dict(params)

    def __getitem__(self, name: str) -> Any:
        return self._reply[name]

    def __contains__(self, name: object) -> bool:
        return name in self._reply

    def keys(self) -> Iterable[str]:
        return self._reply.keys()

    def get(self, name: str, default: Any = None) -> Any:
        return self._reply.get(name, default)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_reply":
            raise AttributeError(name)
        try:
            return self._reply[name]
        except KeyError:
            raise AttributeError(f"the reply has no {name!r}; it has {', '.join(self._reply)}") from None

    def __repr__(self) -> str:
        return f"Record({self._reply!r})"


@names_options
class Client:
    """A service, and who one is there.  Sends nothing until it is asked to."""

    def __init__(self, url: str, token: str, patience: float = 60.0, ca: Optional[str] = None) -> None:
        self.transport = Transport(url, token, patience, ca)
        self.url = self.transport.url

    def __deepcopy__(self, memo: Any) -> "Client":
        return self

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Any request of the contract, with this client's repetitions: call("GET", "/v1/meta")."""
        return self.transport.call(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def close(self) -> None:
        self.transport.close()

    def study(self, name: str, space: Optional[Mapping[str, Any]] = None, *, goal: Union[str, Mapping[str, Any]] = "minimize",
              metric: str = "value", metrics: Optional[Metrics] = None, trials: Optional[int] = None,
              algorithm: Union[str, Mapping[str, Any], None] = None,
              stopping: Union[str, Mapping[str, Any], None] = None,
              learn_from: Union[str, Sequence[Union[str, "Study"]]] = (),
              constraints: Sequence[Mapping[str, Any]] = (), forbid: Sequence[Mapping[str, Any]] = (),
              lease: Optional[float] = None, target: Optional[float] = None, seed: Optional[int] = None,
              labels: Optional[Mapping[str, str]] = None, notes: str = "", **more: Any) -> "Study":
        """The study of this name, made if there is none; `more` is what else the contract takes.  SpaceDiffers when it
        is there with another space, metrics or algorithm.  Without a space: the one there is, or one that its
        trials say as they run (`suggest_float` ...)."""
        if not isinstance(name, str):
            raise TypeError(f"a study's name is a text, not {name!r:.100}")
        if name in ("", ".", ".."):
            raise ValueError(f"a study's name stands in its address: more than dots: {name!r}")
        whole(name)
        chosen: Dict[str, Any] = dict(algorithm or {}) if not isinstance(algorithm, str) else {"name": algorithm}
        if learn_from:
            earlier: Dict[str, Any] = {"meta": "auto"} if learn_from == "auto" else {
                "earlier_studies": [one if isinstance(one, str) else one.id for one in learn_from]}
            chosen = {"name": "transfer", **earlier, **chosen}
        spec: Dict[str, Any] = {
            "metrics": metric_list(metrics if metrics is not None else {metric: goal}),
            "algorithm": chosen,
            "stopping": {"rule": stopping} if isinstance(stopping, str) else stopping,
            "budget": {"trials": trials} if trials is not None else None,
            "stop_when": {"better_than": target} if target is not None else None,
            "lease_seconds": None if lease is None else int(lease),
            "seed": seed, "labels": labels, "notes": notes, **more}
        spec = {member: value for member, value in spec.items() if value not in (None, {}, "")}
        if constraints:
            spec["constraints"] = list(constraints)
        if forbid:
            spec["forbid"] = [listed(one) for one in forbid]
        return Study(self, name, spec, Space(space) if space is not None else None)

    def open(self, study_id: str) -> "Study":
        """The study of this id, which its page and its address have: names may change, and be those of several."""
        body = self.call("GET", "/v1/studies/" + urllib.parse.quote(study_id, safe=""))
        return Study(self, body["name"], {}, None, body)

    def studies(self, **query: Any) -> Iterator["Study"]:
        """All studies, page by page: studies(name_contains="resnet", state="active")."""
        for body in self.transport.pages("/v1/studies" + asked(query), "studies", 100):
            yield Study(self, body["name"], {}, None, body)


@names_options
class Study:
    """A study; `study.name`, `study.state`, `study["budget"]`: what the service last said of it."""

    def __init__(self, client: Client, name: str, spec: Dict[str, Any], space: Optional[Space],
                 body: Optional[Dict[str, Any]] = None) -> None:
        self.client, self.name, self._spec = client, name, spec
        self.grows = space is None
        self.space = space or Space()
        self.body: Dict[str, Any] = {}
        self._waits: Set[str] = set()  # for what somebody has waited, which is said once
        if body is not None:
            self._take(body)
        elif space is not None:
            self._take(self._ensure())
        else:
            self._find()

    def _ensure(self) -> Dict[str, Any]:
        spec = dict(self._spec)
        spec["space"] = {"type": "parameters", "parameters": self.space.declared()}
        if "constraints" in spec:
            spec["space"]["constraints"] = spec.pop("constraints")
        if "forbid" in spec:
            spec["space"]["forbid"] = [self.space.named(one) for one in spec.pop("forbid")]
        body: Dict[str, Any] = self.client.call("PUT", "/v1/studies/by-name/" + urllib.parse.quote(self.name, safe=""), spec)
        asked_for, there = spec.get("budget"), body.get("budget")
        if asked_for and asked_for != there:
            log.warning("the study %r keeps its budget of %s, not %s: to change it, study.edit(budget=%s), then study.reopen() if it has "
                        "ended", self.name, there, asked_for, asked_for)
        return body

    def _find(self) -> bool:
        found = self.client.call("GET", "/v1/studies" + asked({"name": self.name, "limit": 2}))["studies"]
        if len(found) > 1:
            raise Conflict(409, {"code": "ambiguous_name", "detail": f"several studies are called {self.name!r}"})
        if found:
            self._take(found[0])
        return bool(found)

    def _take(self, body: Dict[str, Any]) -> None:
        if not re.fullmatch("std_[a-z2-7]{16}", str(body["id"])):
            raise bad_reply(f"{body['id']!r:.100} is no id of a study")
        self.body, self.id, self.path = body, body["id"], "/v1/studies/" + body["id"]
        self.space.learn(body["space"].get("parameters", []))
        self.metrics = [metric["name"] for metric in body["metrics"]]

    def _made(self) -> str:
        if not self.body:
            raise NotFound(404, {"code": "study_not_found", "detail": f"the study {self.name!r} begins with its first "
                                 "trial, since it has no space yet"})
        return str(self.path)

    def __getitem__(self, member: str) -> Any:
        return self.body[member]

    def __repr__(self) -> str:
        return f"<gnomon study {self.name!r}: {self.page}>"

    @property
    def page(self) -> str:
        """The address of its page, for a browser."""
        return f"{self.client.url}/#/studies{'/' + self.id if self.body else ''}"

    def _get(self, what: str = "", **query: Any) -> Any:
        return self.client.call("GET", self._made() + what + asked(query))

    def _post(self, what: str, body: Any = None) -> Any:
        return self.client.call("POST", self._made() + what, body)

    def refresh(self) -> "Study":
        """What the service says of it now."""
        self._take(self._get())
        return self

    @property
    def state(self) -> str:
        self.refresh()
        state: str = self.body["state"]
        return state

    @property
    def best(self) -> Optional[Record]:
        """The best trial: `.value`, `.params`, `.number`; None when there is none yet.  ValueError with several objectives."""
        goals = [metric["goal"] for metric in self.body.get("metrics", [])]
        if sum(goal not in ("constrain", "track") for goal in goals) > 1:
            raise ValueError(f"{self.name!r} has several objectives, and so no single best trial: use study.front")
        trial = self._get("/best")["trial"]
        return None if trial is None else self._record(trial)

    @property
    def front(self) -> List[Record]:
        """The trials that no other dominates."""
        return [self._record(trial) for trial in self._get("/pareto")["trials"]]

    def params_of(self, point: Mapping[str, Any]) -> Dict[str, Param]:
        """A trial's, before they are given to a function: a server gives none a value that the space does not have."""
        if self.space.misfit(point) is not None:
            self.refresh()  # the space may have grown
            wrong = self.space.misfit(point)
            if wrong is not None:
                raise bad_reply(f"a trial has a value of {wrong!r:.100} that the study's space does not have")
        return self.space.decode(point)

    def _record(self, trial: Mapping[str, Any]) -> Record:
        point = trial["point"]
        return Record(trial, self.space.decode(point) if isinstance(point, dict) else None)

    # Trials

    def ask(self, *, worker: Optional[str] = None, fixed: Optional[Mapping[str, Any]] = None,
            wait: Union[bool, float] = True, **said: Any) -> "Trial":
        """The next trial.  Waits while the study is paused or others have the last trials (wait=False: not at all,
        wait=60: for so many seconds; then Paused); Finished at its end.  `said` goes with the trial: labels, metadata, notes."""
        return self.ask_many(1, worker=worker, fixed=fixed, wait=wait, **said)[0]

    def ask_many(self, n: int, *, worker: Optional[str] = None, fixed: Optional[Mapping[str, Any]] = None,
                 wait: Union[bool, float] = True, **said: Any) -> List["Trial"]:
        """Up to n trials at once."""
        if not self.body and not self._find():
            return [Trial(self, None, worker)]
        slot = Slot(worker)
        try:
            trials = self._suggest({"count": n, "worker": slot.name, **({"fixed": self.space.encode(fixed)} if fixed else {}),
                                    **said}, wait)
            slot.trials = len(trials)
            return [Trial(self, trial, worker, slot) for trial in trials]
        except BaseException as failure:
            if not isinstance(failure, GnomonError) or failure.code == "interrupted":  # what was handed out goes back
                self.client.transport.settle(self.path + "/suggest")
                self.reclaim(slot.name)
            slot.trials = 0
            slot.leave()
            raise

    def _suggest(self, body: Dict[str, Any], wait: Union[bool, float]) -> List[Dict[str, Any]]:
        end = math.inf if wait is True else time.monotonic() + wait
        while True:
            seconds = min(WAIT_SECONDS, int(end - time.monotonic())) if end < math.inf else WAIT_SECONDS
            prefer = {"Prefer": f"wait={seconds}"} if seconds > 0 else {}
            try:
                trials: List[Dict[str, Any]] = self.client.call("POST", self.path + "/suggest", body, **prefer)["trials"]
                return trials
            except Paused as refused:
                if time.monotonic() >= end:
                    raise
                if refused.code not in self._waits:
                    self._waits.add(refused.code)
                    log.warning("%s: %s; waiting%s", self.name, refused.detail, AGAIN if refused.code == "all_handed_out" else "")
            # The service held the request back already; it says at once only that too many wait.
            self.client.transport.sleep(min(1.0, max(0.0, end - time.monotonic())))

    def reclaim(self, worker: Optional[str] = None, spare: Sequence[int] = (), reason: str = "its worker is gone") -> List[int]:
        """Gives back what this worker, who is no more, has, but fails those in `spare`; the numbers of these trials.  Without
        a worker: what any has."""
        call = self.client.transport.call
        numbers = []
        try:
            query = asked({"worker": worker, "state": "running", "view": "basic", "limit": 1000})
            for trial in call("GET", f"{self.path}/trials{query}", patience=5.0)["trials"]:
                number, lease = trial["number"], trial["lease"]["id"]
                if number in spare:
                    call("POST", self.path + "/observe",
                         {"trial": number, "lease": lease, "state": "failed", "reason": reason}, patience=5.0)
                else:
                    give_back(self, number, lease, reason)
                numbers.append(number)
        except GnomonError as refused:
            log.warning("%s: %s", self.name, refused)
        return numbers

    def tell(self, params: Mapping[str, Any], value: Value, *, stddev: Optional[float] = None,
             id: Optional[str] = None, outside: bool = False) -> None:
        """A result from elsewhere; one with the same id is taken in once.  With outside=True the point may lie outside the
        space: the model learns from it, and it is never the best."""
        self._post("/observe", {"point": self.space.encode(params), **self.result(value, stddev),
                                **({"external_id": id} if id is not None else {}), **({"outside": "context"} if outside else {})})

    def result(self, value: Value, stddev: Optional[float] = None) -> Dict[str, Any]:
        """A value, one for each metric by name, or in their order, as the contract has it.  ValueError for what is
        not a finite number."""
        given: Any = plain(value)
        if not is_number(given) and not isinstance(given, Mapping):
            try:
                fits = len(given) == len(self.metrics) and not isinstance(given, (str, bytes))
                given = dict(zip(self.metrics, given)) if fits else None
            except TypeError:
                given = None
            if given is None:
                wanted = "a number" if len(self.metrics) == 1 else f"a number for each of {', '.join(self.metrics)}"
                raise ValueError(f"the function returned {value!r:.200}, and not {wanted}")
        named = {name: plain(one) for name, one in given.items()} if isinstance(given, Mapping) else {"": given}
        for name, one in named.items():
            if one is not None and not (is_number(one) and math.isfinite(one)):
                raise ValueError(f"not a finite number{name and ' for ' + name}: {one!r}")
        if "" in named and len(self.metrics) > 1:
            objective = [metric for metric in self.body["metrics"] if metric["goal"] != "track"]
            if len(objective) == 1:
                named = {objective[0]["name"]: given}
        body: Dict[str, Any] = {"value": named[""]} if "" in named else {"values": named}
        return body if stddev is None else {**body, "stddev": float(stddev)}

    def enqueue(self, *params: Mapping[str, Any], fill: Optional[str] = None) -> List[int]:
        """Points to be tried first; with fill="algorithm" or "default" they may lack parameters."""
        body: Dict[str, Any] = {"points": [self.space.encode(p) for p in params], **({"fill": fill} if fill else {})}
        queued = self._post("/trials", body)
        return [trial["number"] for trial in queued["trials"]]

    def optimize(self, f: Callable[["Trial"], Value], *, trials: Optional[int] = None, workers: int = 1,
                 backend: str = "threads", catch: Tuple[Type[BaseException], ...] = (Exception,),
                 timeout: Optional[float] = None, callbacks: Sequence[Callable[["Study", "Outcome"], Any]] = (),
                 progress: Optional[bool] = None) -> "Study":
        """Runs f(trial) until the study ends, or for so many trials or seconds; with several workers in threads or
        processes.  What f raises makes a failed trial, and the search goes on.  The last of it is raised when the study ends
        because its runs fail (`stop_when.failures_in_a_row`), or when five turns or more were all that failed; what no other
        trial can cure at once.  Ctrl-C and SIGTERM give the unfinished trials back."""
        from .loop import Run
        Run(self, f, trials, workers, backend, catch, timeout, callbacks, progress).go()
        return self.refresh()

    def __iter__(self) -> Iterator["Trial"]:
        """for trial in study: ... until the study ends."""
        while True:
            try:
                yield self.ask()
            except Finished:
                return

    def trials(self, **query: Any) -> Iterator[Record]:
        """All trials, page by page: trials(state=["completed", "stopped"], order="-value")."""
        for trial in self.client.transport.pages(self._made() + "/trials" + asked(query), "trials"):
            yield self._record(trial)

    def predict(self, params: Sequence[Mapping[str, Any]], **more: Any) -> List[Record]:
        """What the model says of these points: `.mean`, `.stddev`, `.stddev_observed`."""
        reply = self._post("/predict", {"points": [self.space.encode(p) for p in params], **more})
        return [Record(one) for one in reply["predictions"]]

    def importances(self, **query: Any) -> List[Record]:
        """Each parameter's share of the variation, the largest first."""
        rows = self._get("/importances", **query)["parameters"]
        return [Record(row) for row in sorted(rows, key=lambda row: -(row["total"] or 0))]

    # Its life

    def pause(self) -> None:
        self._take(self._post("/pause"))

    def resume(self) -> None:
        self._take(self._post("/resume"))

    def complete(self) -> None:
        self._take(self._post("/complete"))

    def reopen(self) -> None:
        self._take(self._post("/reopen"))

    def edit(self, **what: Any) -> None:
        """edit(budget={"trials": 200}, notes="...")"""
        self._take(self.client.call("PATCH", self._made(), what, If_Match="*"))

    def delete(self) -> None:
        self.client.call("DELETE", self._made())

    def grow(self, **space: Any) -> None:
        """New parameters (with a default), wider ranges, more choices; nothing is taken away."""
        added = {name: parameter(name, what) for name, what in space.items()}
        self.space.add(added)
        self._take(self._post("/space/grow", {"parameters": [kind.declared for kind in added.values()]}))

    def begin(self, name: str, kind: Any) -> None:
        """The first parameter of a study without a space makes it."""
        self.space.add({name: kind})
        try:
            self._take(self._ensure())
        except SpaceDiffers:  # another worker did, and is further on
            if not self._find():
                raise

    # Views of the study

    def table(self) -> List[Dict[str, Any]]:
        """One row a trial, as dataframe() has them, without pandas."""
        from .frame import table
        return table(self)

    def dataframe(self) -> Any:
        """One row a trial; needs pandas."""
        from .frame import dataframe
        return dataframe(self)

    def plot(self, kind: str = "history", ax: Any = None, **query: Any) -> Any:
        """Draws with matplotlib: history, importances, slice, contour, parallel, pareto, curves; the axes."""
        from .plots import plot
        return plot(self, kind, ax, query)

    def plot_history(self, ax: Any = None, **query: Any) -> Any:
        return self.plot("history", ax, **query)

    def plot_importances(self, ax: Any = None, **query: Any) -> Any:
        return self.plot("importances", ax, **query)

    def plot_slice(self, x: str, ax: Any = None, **query: Any) -> Any:
        return self.plot("slice", ax, x=x, **query)

    def plot_contour(self, x: str, y: str, ax: Any = None, **query: Any) -> Any:
        return self.plot("contour", ax, x=x, y=y, **query)

    def plot_parallel(self, ax: Any = None, **query: Any) -> Any:
        return self.plot("parallel", ax, **query)

    def plot_pareto(self, ax: Any = None, **query: Any) -> Any:
        return self.plot("pareto", ax, **query)

    def plot_curves(self, ax: Any = None, **query: Any) -> Any:
        return self.plot("curves", ax, **query)


def give_back(study: Study, number: int, lease: int, reason: str) -> None:
    """Abandons a trial, which waits again at once, unless it has been measured in part or the study is over."""
    study.client.transport.call("POST", f"{study.path}/trials/{number}/abandon",
                                {"lease": lease, "reason": words(reason), "requeue": True}, patience=5.0)


@names_options
class Trial(Mapping[str, Param]):
    """A trial that this process holds: a mapping of its parameters, so that f(**trial) works.  With `with`, whatever
    happens in the block ends it: an exception makes it failed, Ctrl-C gives it back."""

    def __init__(self, study: Study, body: Optional[Dict[str, Any]], worker: Optional[str] = None,
                 slot: Optional[Slot] = None) -> None:
        self.study, self._worker = study, worker
        self.params: Dict[str, Param] = {}
        self.number = 0
        self.curve: List[Tuple[int, Any]] = []
        self.resume = 0  # the last step of a trial that goes on behind it, 0: begin
        self.state = "running"
        self.value: Any = None
        self.reason: Optional[str] = None
        self.lost = self.over = False
        self._slot: Optional[Slot] = None
        self._lock = threading.Lock()
        if body is not None:
            self._take(body, slot or Slot(worker))

    def _take(self, body: Dict[str, Any], slot: Slot) -> None:
        self.body, self.number, self.worker, self._slot = body, int(body["number"]), body["worker"], slot
        self.path = f"{self.study.path}/trials/{self.number}"
        if isinstance(body["point"], dict):
            self.params = self.study.params_of(body["point"])
        self.curve = [(step["step"], step.get("values", step["value"])) for step in body.get("curve", [])]
        self.resume = body.get("resume", {}).get("step", 0)
        self._lease = int(body["lease"]["id"])
        self._seconds: float = body["lease"]["heartbeat_seconds"]
        HEART.hold(self, self._seconds)

    def __getitem__(self, name: str) -> Param:
        if name not in self.params:
            raise KeyError(f"no parameter {name!r} in this trial, which has {', '.join(self.params) or 'none'}" +
                           hint(str(name), self.params))
        return self.params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"<gnomon trial {self.number} of {self.study.name!r}: {self.params}>"

    def beat(self) -> Optional[float]:
        """Renews the lease; the thread of heartbeats calls it."""
        if self.state != "running":
            return None
        try:
            reply = self.study.client.transport.call("POST", self.path + "/heartbeat", {"lease": self._lease}, patience=0)
        except Unavailable:
            return min(self._seconds / 4, 5.0)
        except GnomonError as refused:
            log.warning("trial %d of %s: %s", self.number, self.study.name, refused)
            self.lost = True
            return None
        self.over = reply.get("next") == "stop"
        return self._seconds

    def _end(self, state: str, send: Callable[[], Any] = lambda: None) -> None:
        """The first end counts, unless the service did not take it."""
        before = ""  # what the trial was when this end came; "": it has not come yet
        try:
            with self._lock:
                before, self.state = self.state, state if self.state == "running" else self.state
            if before != "running":
                raise LeaseLost(409, {"code": "trial_finished", "detail": f"trial {self.number} has ended: {before}"})
            send()
        except LeaseLost:
            if before == "running":
                self._leave()
            raise
        except BaseException:  # Ctrl-C, too: nobody knows whether it arrived, and what gives the trial back will hear
            if before == "running":
                self.state = "running"
            raise
        self._leave()

    def _leave(self) -> None:
        if self._slot is not None:
            HEART.release(self)
            self._slot.leave()

    def _tell(self, state: str, body: Mapping[str, Any], reason: Optional[str] = None) -> None:
        if self._slot is None:
            self._end(state)
            return
        self.reason = reason
        self._end(state, lambda: self.study._post("/observe", {"trial": self.number, "lease": self._lease, **body}))

    def tell(self, value: Value, *, stddev: Optional[float] = None, **said: Any) -> None:
        """The result; `said` goes with it: labels, metadata, notes, artifacts, duration_seconds."""
        if self._slot is None:
            raise ValueError("the trial has asked for no parameter, and its study has no space yet")
        body = self.study.result(value, stddev)
        self.value = body.get("value", body.get("values"))
        self._tell("completed", {**body, **said})

    def fail(self, reason: str, **more: Any) -> None:
        """The run came to no result; costs nothing of the budget."""
        self._tell("failed", {"state": "failed", "reason": words(reason), **more}, reason)

    def infeasible(self, reason: str = "", **more: Any) -> None:
        """There is no result here; the model learns that."""
        self._tell("infeasible", {"state": "infeasible", **({"reason": words(reason)} if reason else {}), **more}, reason)

    def give_back(self, reason: str = "given back") -> None:
        """Another worker shall have it."""
        if self._slot is None:
            self._end("abandoned")
        else:
            self._end("abandoned", lambda: give_back(self.study, self.number, self._lease, reason))

    def report(self, step: int, value: Value) -> None:
        """The metric after a step, or all that are modelled, as for tell.  Pruned when the rest is not worth it, LeaseLost when another worker has the trial."""
        if self.should_stop(step, value):
            raise Pruned(self.reason)

    def should_stop(self, step: int, value: Value) -> bool:
        """The same for who dislikes exceptions; after True the trial has ended."""
        if self.lost or self.state != "running":
            raise LeaseLost(409, {"code": "lease_lost", "detail": f"trial {self.number} is not this worker's any more"})
        if self.over:
            raise Finished(409, {"code": "study_completed", "detail": "the study ended meanwhile"})
        known = dict(self.curve)
        if step in known and self.body.get("curve"):  # measured under this lease before a restart
            return False
        body = self.study.result(value)
        reply = self.study.client.call("POST", self.path + "/report", {"step": step, **body, "lease": self._lease})
        if reply.get("warning") is not None:
            warnings.warn(f"a value is {reply['warning']}: what lies beyond makes no difference to the algorithm", stacklevel=2)
        told = body.get("value", body.get("values"))
        self.curve.append((step, told))
        if reply["decision"] != "stop":
            self.over = reply["next"] == "stop"
            return False
        self.reason, self.value = reply["reason"], told
        self._end("stopped")
        return True

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], failure: Optional[BaseException],
                 trace: Optional[TracebackType]) -> bool:
        if self.state == "running":
            if kind is None:
                warnings.warn(f"{self!r} was left without a result", stacklevel=2)
                self.fail("no value")
            elif issubclass(kind, LeaseLost):
                self._end("lost")
            elif issubclass(kind, Pruned):
                self.fail(text_of(failure) or "pruned")
            elif issubclass(kind, Exception) and not issubclass(kind, GnomonError):
                self.fail(said(failure))
            else:
                try:
                    self.give_back("interrupted" if kind is KeyboardInterrupt else kind.__name__)
                except GnomonError as refused:  # what ends the block is what counts
                    log.warning("trial %d of %s was not given back: %s", self.number, self.study.name, refused)
        return kind is not None and issubclass(kind, Pruned)

    # Define by run

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None, log: bool = False,
                      when: Optional[Mapping[str, Any]] = None) -> float:
        middle = math.sqrt(low * high) if log else (low + high) / 2
        if step is not None:
            middle = low + (middle - low) // step * step
        given = {"is": (float(low), float(high), "log" if log else "linear"), "default": middle}
        value = self._suggested(name, given if step is None else {**given, "step": float(step)}, when)
        if not low <= value <= high:
            raise ValueError(f"{name}: {value} is not within {low} and {high}: the study has another range")
        return float(value)

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False,
                    when: Optional[Mapping[str, Any]] = None) -> int:
        middle = round(math.sqrt(low * high)) if log and low > 0 else low + (high - low) // step // 2 * step
        high = low + (high - low) // step * step
        given: Dict[str, Any] = {"is": (low, high), "default": middle}
        if log:
            given["scale"] = "log"
        elif step != 1:
            given["step"] = step
        value = self._suggested(name, given, when)
        if not low <= value <= high:
            raise ValueError(f"{name}: {value} is not within {low} and {high}: the study has another range")
        return int(value)

    def suggest_categorical(self, name: str, choices: Sequence[Param], *,
                            when: Optional[Mapping[str, Any]] = None) -> Param:
        value = self._suggested(name, {"is": list(choices), "default": choices[0]}, when)
        if not any(value is one or value == one for one in choices):
            raise ValueError(f"{name}: {value!r} is none of {choices!r}: the study has other choices")
        return value

    def _suggested(self, name: str, given: Dict[str, Any], when: Optional[Mapping[str, Any]]) -> Any:
        if name in self.params:
            return self.params[name]
        study = self.study
        if not study.grows:
            raise KeyError(f"{name}: not in the space of this study, or not with the other values of this trial")
        if when:
            given = {**given, "when": when}
        if not study.body:
            study.begin(name, parameter(name, given))
        if self._slot is None:
            trial = study.ask(worker=self._worker)
            self._take(trial.body, trial._slot or Slot())
            HEART.release(trial)
            if name in self.params:
                return self.params[name]
        study.grow(**{name: given})
        self.params[name] = given["default"]
        return given["default"]


def bad_reply(detail: str) -> GnomonError:
    return GnomonError(599, {"code": "bad_reply", "detail": "the service's answer is not understood: " + detail})


def words(reason: str) -> str:
    """As the service takes it: texts of exceptions may have what no text has."""
    return reason[:1000].replace("\0", " ").encode("utf-8", "replace").decode()


def asked(query: Mapping[str, Any]) -> str:
    """?name=value&... ; None is left out, a list comes several times."""
    whole(query)
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items() if value is not None}
    return "?" + urllib.parse.urlencode(given, doseq=True) if given else ""
