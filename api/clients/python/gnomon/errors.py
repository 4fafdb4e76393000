"""What can go wrong: one class for each family of refusals, with the service's own code, detail and list of errors."""
from __future__ import annotations

import difflib
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type


SHOWN = 20  # of the errors of one refusal, in its text


def text_of(failure: Optional[BaseException]) -> str:
    """What it says; nothing where that raises, too."""
    try:
        return str(failure)
    except Exception:
        return ""


def hint(word: str, known: Iterable[str], before: str = "") -> str:
    """The known word that was probably meant."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {before}{near[0]}?" if near else ""


def said(failure: Optional[BaseException]) -> str:
    """Its name, and what it says: the reason of a trial that failed by it."""
    text = text_of(failure)
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__


class GnomonError(Exception):
    """A refusal.  `code` is stable (GET /problems/CODE says what to do), `errors` has a pointer for each bad place."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem: Dict[str, Any] = dict(problem)
        self.code: str = self.problem.get("code", "")
        self.detail: str = self.problem.get("detail", "")
        self.errors: List[Dict[str, Any]] = self.problem.get("errors", [])
        self.request_id: Optional[str] = self.problem.get("request_id")
        super().__init__(status, self.problem)

    def places(self) -> List[str]:
        """Each mistake, where it is first."""
        found = [f"{e.get('pointer') or e.get('parameter') or 'request'}: {e.get('detail', '')}" for e in self.errors[:SHOWN]]
        return found + ([f"and {len(self.errors) - SHOWN} more"] if len(self.errors) > SHOWN else [])

    def __str__(self) -> str:
        is_at_a_place = any(e.get("detail") == self.detail for e in self.errors[:SHOWN])
        return f"{self.code or self.status}: " + "; ".join([*([] if is_at_a_place else [self.detail]), *self.places()])

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.status, self.problem)


class Refused(GnomonError, ValueError):
    """The request is wrong: 400, 413, 422 and the like."""


class Denied(GnomonError, PermissionError):
    """No token, or one that may not do this: 401, 403."""


class NotFound(GnomonError, LookupError):
    """404."""


class Conflict(GnomonError):
    """The request does not fit what is there: 409, 412."""


class Finished(Conflict):
    """There will be no more trials."""

    @property
    def is_by_failures(self) -> bool:
        """Whether that is since too many runs failed."""
        return self.problem.get("reason") == "too_many_failures"


class Paused(Conflict):
    """There is no trial now; only from ask(wait=False)."""


class LeaseLost(Conflict):
    """Somebody else has the trial, or it has ended otherwise."""


class SpaceDiffers(Conflict):
    """A study of this name has another space, other metrics or another algorithm."""


class Unavailable(GnomonError, ConnectionError):
    """No answer, or none that helps, for as long as the client's patience lasted."""


class Pruned(Exception):
    """The rest of this run is not worth it.  `optimize` and `with` know it; let it pass."""


FAMILIES: Dict[int, Type[GnomonError]] = {401: Denied, 403: Denied, 404: NotFound, 409: Conflict, 412: Conflict}
LOST = ("lease_lost", "trial_finished", "trial_not_running", "trial_retracted", "trial_not_found", "deleted")


def refusal(status: int, problem: Mapping[str, Any]) -> GnomonError:
    """The exception for a reply."""
    code = problem.get("code", "")
    if code in LOST:
        return LeaseLost(status, problem)
    if code == "study_differs":
        return SpaceDiffers(status, problem)
    if status == 409 and problem.get("next") == "stop":
        return Finished(status, problem)
    if status == 409 and problem.get("next") == "wait":
        return Paused(status, problem)
    return FAMILIES.get(status, Unavailable if status >= 500 or status in RETRIED else Refused)(status, problem)


# Answers after which the same request may succeed.
RETRIED = (408, 429, 502, 503, 504, 507, 599)
