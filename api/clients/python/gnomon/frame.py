"""The trials of a study as rows."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from .study import Study

PLAIN = ("number", "state", "worker", "reason", "external_id", "created_at", "started_at", "finished_at",
         "duration_seconds")


def table(study: "Study") -> List[Dict[str, Any]]:
    """Number, state, a column for each metric and each parameter (params_NAME where the name is taken), and the rest."""
    rows = []
    named = parameters(study)
    for trial in study.trials(view="basic"):
        row: Dict[str, Any] = {"number": trial.number, "state": trial.state}
        values = trial["values"] or ({study.metrics[0]: trial.value} if trial.value is not None else {})
        row.update({metric: values.get(metric) for metric in study.metrics})
        params = trial.get("params", {})
        row.update({named[name]: params.get(name) for name in named})
        row.update({name: trial[name] for name in PLAIN[2:]})
        rows.append(row)
    return rows


def parameters(study: "Study") -> Dict[str, str]:
    """The column of each parameter."""
    taken = {*PLAIN, *study.metrics}
    return {name: "params_" + name if name in taken else name for name in study.space.kinds}


def dataframe(study: "Study") -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("dataframe() needs pandas; table() gives the same rows without") from missing
    columns = [*PLAIN[:2], *study.metrics, *parameters(study).values(), *PLAIN[2:]]
    frame = pandas.DataFrame(table(study), columns=columns)
    for name in PLAIN:
        if name.endswith("_at"):
            frame[name] = pandas.to_datetime(frame[name])
    return frame
