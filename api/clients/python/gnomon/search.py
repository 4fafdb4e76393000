"""scikit-learn's search over a gnomon study: GridSearchCV's interface, with suggestions in place of a grid."""
from __future__ import annotations

import secrets
from typing import Any, Mapping, Optional

import numpy
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from .errors import Finished
from .server import local
from .study import Client
from .transport import named_server


class GnomonSearchCV(BaseSearchCV):
    """space      as for Client.study
    n_iter     how many points are tried; batch: how many of them at a time, which n_jobs may share
    client     a gnomon.Client; None: gnomon.connect() where GNOMON_SERVER is set, else a service of its own for each fit
    study      the study's name; None: a new one for each fit
    Everything else is GridSearchCV's; with several scorers, `refit` names the one that is maximised."""

    _required_parameters = ["estimator", "space"]

    def __init__(self, estimator: Any, space: Mapping[str, Any], *, n_iter: int = 30, batch: int = 1,
                 client: Optional[Client] = None, study: Optional[str] = None, algorithm: Any = None,
                 scoring: Any = None, n_jobs: Optional[int] = None, refit: Any = True, cv: Any = None, verbose: int = 0,
                 pre_dispatch: Any = "2*n_jobs", random_state: Any = None, error_score: Any = numpy.nan,
                 return_train_score: bool = False) -> None:
        self.space, self.n_iter, self.batch, self.client, self.study = space, n_iter, batch, client, study
        self.algorithm, self.random_state = algorithm, random_state
        super().__init__(estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
                         pre_dispatch=pre_dispatch, error_score=error_score, return_train_score=return_train_score)

    def _run_search(self, evaluate_candidates: Any) -> None:
        if self.client is not None:
            self._search(self.client, evaluate_candidates)
        elif named_server():
            from . import connect
            self._search(connect(), evaluate_candidates)
        else:
            with local() as client:
                self._search(client, evaluate_candidates)

    def _search(self, client: Client, evaluate_candidates: Any) -> None:
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        study = client.study(self.study or f"search {secrets.token_hex(8)}", self.space, goal="maximize", metric="score",
                             trials=self.n_iter, algorithm=self.algorithm, seed=seed)
        member = f"mean_test_{self.refit if isinstance(self.refit, str) else 'score'}"
        failure: Optional[ValueError] = None
        found, asked = False, 0
        while True:
            try:
                trials = study.ask_many(self.batch)
            except Finished:
                break
            asked += len(trials)
            try:
                try:
                    results = evaluate_candidates([dict(trial.params) for trial in trials])
                    scores = results[member][-len(trials):]
                    found = True
                except ValueError as error:  # where every fit failed scikit-learn has no score: there is none
                    if self.error_score == "raise" or "fits failed" not in str(error):
                        raise
                    failure, scores = error, [numpy.nan] * len(trials)
                for trial, score in zip(trials, scores):
                    if numpy.isfinite(score):
                        trial.tell(float(score))
                    else:
                        trial.infeasible("no score")
            except BaseException:
                for trial in trials:
                    if trial.state == "running":
                        trial.give_back("interrupted")
                raise
        if asked == 0:
            raise ValueError(f"the study {study.name!r} has ended: give another name, or raise its budget and reopen it")
        if failure is not None and not found:
            raise failure
