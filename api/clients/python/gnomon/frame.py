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
    taken = {*PLAIN, *study.metrics}
    for trial in study.trials(view="basic"):
        row: Dict[str, Any] = {"number": trial.number, "state": trial.state}
        values = trial["values"] or ({study.metrics[0]: trial.value} if trial.value is not None else {})
        row.update({metric: values.get(metric) for metric in study.metrics})
        params = trial.get("params", {})
        for name in study.space.kinds:
            row["params_" + name if name in taken else name] = params.get(name)
        row.update({name: trial[name] for name in PLAIN[2:]})
        rows.append(row)
    return rows


def dataframe(study: "Study") -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("dataframe() needs pandas; table() gives the same rows without") from missing
    frame = pandas.DataFrame(table(study))
    for name in PLAIN:
        if name.endswith("_at") and name in frame:
            frame[name] = pandas.to_datetime(frame[name])
    return frame
