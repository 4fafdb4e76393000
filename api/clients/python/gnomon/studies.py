"""gnomon study: studies from the command line: tables for people, the service's own replies for scripts."""
from __future__ import annotations

import importlib
import json
import math
import re
import sys
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from . import shell
from .errors import hint
from .shell import Failure, Option
from .transport import Transport
from .work import result_of, shown

TABLE = (
    Option("json", "", "print the server's reply as it is, for scripts", False),
    Option("sort", "BY", "trials: the order; with a - before the word the last comes first", "number",
           choices=tuple(sign + name for name in ("number", "value", "finished", "updated") for sign in ("", "-"))),
    Option("limit", "N", "list, trials: how many at most", 100, 1, 1000),
    Option("state", "STATE", "list, trials: only those in this state"),
    Option("owner", "NAME", "list: only studies that a token of this name made"),
    Option("worker", "NAME", "ask: the name of the worker; a worker that asks again gets its running trials again"),
    Option("count", "N", "ask: how many trials", 1, 1, 1000),
    Option("failed", "REASON", "tell, without a value: the run failed, for this reason"),
    Option("infeasible", "REASON", "tell, without a value: the point cannot be measured, for this reason"),
    Option("yes", "", "delete: really delete the study", False),
    *shell.SERVER,
)
EXAMPLE = """{
  "name": "sweep",
  "metrics": [{"name": "accuracy", "goal": "maximize"}],
  "space": {"type": "parameters", "parameters": [
    {"name": "lr", "type": "double", "min": 1e-5, "max": 0.1, "scale": "log"},
    {"name": "layers", "type": "int", "min": 1, "max": 6},
    {"name": "optimizer", "type": "categorical", "values": ["adam", "sgd"]},
    {"name": "momentum", "type": "double", "min": 0.5, "max": 0.99, "when": {"optimizer": ["sgd"]}}
  ]},
  "budget": {"trials": 100}
}"""

# ---- a sweep, in JSON or in YAML ----

FILE_MAX, DEPTH_MAX = 8 << 20, 32
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
WORDS: Dict[str, Any] = {**dict.fromkeys(("", "~", "null", "Null", "NULL")), **dict.fromkeys(("true", "True", "TRUE"), True),
                         **dict.fromkeys(("false", "False", "FALSE"), False)}


def scalar(text: str) -> Any:
    """Without quotes, by YAML 1.2: 1e-5 is a number, and no, on and 1:30 are texts, unlike in 1.1."""
    if text in WORDS:
        return WORDS[text]
    if not NUMBER.fullmatch(text):
        return text
    if re.fullmatch(r"[-+]?\d+", text) and abs(int(text)) < 2 ** 63:
        return int(text)
    return float(text) if math.isfinite(float(text)) else text


class Yaml:
    """What JSON would have said; aliases and tags are refused."""

    def __init__(self, yaml: Any, path: str, text: str) -> None:
        self.path, self.yaml, self.events = path, yaml, yaml.parse(text, Loader=yaml.SafeLoader)

    def refuse(self, mark: Any, why: str) -> NoReturn:
        raise Failure(f"{self.path}, line {mark.line + 1}: {why}")

    def document(self) -> Any:
        """A single one."""
        next(self.events)  # the stream begins
        event = next(self.events)
        if isinstance(event, self.yaml.StreamEndEvent):
            self.refuse(event.start_mark, "there is nothing in it")
        out = self.node(next(self.events), 0)
        next(self.events)  # the document ends
        event = next(self.events)
        if not isinstance(event, self.yaml.StreamEndEvent):
            self.refuse(event.start_mark, "a second document")
        return out

    def name(self, event: Any, before: Dict[str, Any]) -> str:
        if not isinstance(event, self.yaml.ScalarEvent) or "\0" in event.value or event.anchor or event.tag:
            self.refuse(event.start_mark, "a name is a text")
        if event.value in before:
            self.refuse(event.start_mark, "the same name twice")
        return str(event.value)

    def node(self, event: Any, depth: int) -> Any:
        if isinstance(event, self.yaml.AliasEvent):
            self.refuse(event.start_mark, "aliases are not taken")
        if event.tag is not None:
            self.refuse(event.start_mark, "tags are not taken")
        if depth == DEPTH_MAX:
            self.refuse(event.start_mark, "nested too deep")
        if isinstance(event, self.yaml.ScalarEvent):
            return scalar(event.value) if not event.style else event.value
        if isinstance(event, self.yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := next(self.events), self.yaml.SequenceEndEvent):
                items.append(self.node(event, depth + 1))
            return items
        members: Dict[str, Any] = {}
        while not isinstance(event := next(self.events), self.yaml.MappingEndEvent):
            name = self.name(event, members)
            members[name] = self.node(next(self.events), depth + 1)
        return members


def from_yaml(path: str, text: str) -> Any:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise Failure("a sweep in YAML needs PyYAML, Debian's python3-yaml; one in JSON needs nothing") from None
    try:
        return Yaml(yaml, path, text).document()
    except yaml.YAMLError as failure:
        mark = getattr(failure, "problem_mark", None)
        raise Failure(f"{path}, line {mark.line + 1 if mark else 1}: {getattr(failure, 'problem', None) or 'not YAML'}") from None


def from_json(path: str, text: str) -> Any:
    def members(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise Failure(f"{path}: an object has the same name twice")
        return dict(pairs)
    try:
        return json.loads(text, object_pairs_hook=members)
    except RecursionError:
        raise Failure(f"{path}: nested too deep") from None
    except json.JSONDecodeError as failure:
        raise Failure(f"{path}, line {failure.lineno}, column {failure.colno}: {failure.msg}") from None


def sweep_of(path: str, data: bytes) -> Dict[str, Any]:
    path = "standard input" if path == "-" else path
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(f"{path}, line 1: not in UTF-8") from None
    is_yaml = path.endswith((".yaml", ".yml")) or not text.lstrip().startswith("{")
    sweep = from_yaml(path, text) if is_yaml else from_json(path, text)
    if not isinstance(sweep, dict) or not isinstance(sweep.get("name"), str):
        raise Failure(f"{path}: a study needs a name; gnomon study example shows one")
    return sweep


# ---- tables ----

def cell(value: Any) -> str:
    """As people read it: six digits of a number."""
    return "" if value is None or isinstance(value, (dict, list)) else f"{value:.6g}" if isinstance(value, float) else shown(value)


def took(seconds: Any) -> str:
    if not isinstance(seconds, (int, float)):
        return ""
    hours, rest = divmod(int(seconds), 3600)
    return (f"{hours}:{rest // 60:02d}" if hours else f"{rest // 60}") + f":{rest % 60:02d}"


def is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?(:.*)?|[-+]?(inf|nan)", text, re.I | re.ASCII) is not None


def behind_point(text: str) -> int:
    """Letters from the decimal point on: 0.0031 has 5, 4 has 0."""
    return len(text) - text.index(".") if "." in text else 0


def table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be, numbers under numbers, point under point."""
    columns = [list(map(shell.plain, column)) for column in zip(*rows)]
    for column in columns:
        cells = column[1:]
        if all(not text or is_number(text) for text in cells):
            behind = max(map(behind_point, cells), default=0)
            column[1:] = [text + " " * (behind - behind_point(text)) if text else "" for text in cells]
            width = max(map(len, column))
            column[:] = [text.rjust(width) for text in column]
        else:
            width = max(map(len, column))
            column[:] = [text.ljust(width) for text in column]
    for row in zip(*columns):
        print("  ".join(row).rstrip())


# ---- verbs ----

class Asking:
    """A verb's options, operands and study, and the service that it asks."""

    def __init__(self, options: Dict[str, Any], transport: Transport, operands: List[str]) -> None:
        self.options, self.transport, self.operands = options, transport, operands
        self.study: Dict[str, Any] = {}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The reply; None when --json has printed it."""
        reply = shell.once(self.transport, method, path, body)
        if self.options["json"] and reply is not None:
            shell.said(json.dumps(reply, ensure_ascii=False, separators=(",", ":")), sys.stdout)
            return None
        return reply

    def of_study(self, method: str, rest: str, body: Any = None) -> Any:
        return self.ask(method, f"/v1/studies/{self.study['id']}{rest}", body)

    def query(self, *names: str) -> str:
        return "".join(f"&{name}={shell.quoted(self.options[name])}" for name in names if self.options[name] is not None)


def more(page: Dict[str, Any]) -> None:
    if page.get("next_cursor"):
        shell.said("there are more: --limit N shows up to N", sys.stderr)


def point(values: Dict[str, Any]) -> None:
    table([(name, cell(value)) for name, value in values.items()])


def list_all(a: Asking) -> None:
    page = a.ask("GET", f"/v1/studies?view=basic&limit={a.options['limit']}" + a.query("state", "owner"))
    if page is None:
        return
    rows = [["name", "id", "state", "trials", "best", "owner"]]
    for study in page["studies"]:
        total = (study.get("budget") or {}).get("trials")
        done = str(study["trials"]["completed"]) + (f" of {total}" if total else "")
        rows.append([study["name"], study["id"], study["state"], done, cell((study.get("best") or {}).get("value")),
                     study.get("owner") or ""])
    table(rows)
    more(page)


def differs(wanted: Any, there: Any) -> bool:
    if isinstance(wanted, dict):
        return any(differs(one, (there or {}).get(name)) for name, one in wanted.items())
    return bool(wanted != there)


def create(a: Asking) -> None:
    """Gets or creates the study, so that the same file may be used on every machine."""
    path = a.operands[0]
    with open(0 if path == "-" else path, "rb") as file:
        data = file.read(FILE_MAX + 1)
    if len(data) > FILE_MAX:
        raise Failure(f"{path}: more than {FILE_MAX} bytes")
    sweep = sweep_of(path, data)
    name = sweep["name"]
    made = a.ask("PUT", f"/v1/studies/by-name/{shell.quoted(name)}", sweep)
    if made is None:
        return
    parameters = made["space"].get("parameters")
    count = "" if parameters is None else f"{len(parameters)} parameter{'' if len(parameters) == 1 else 's'}, "
    shell.said(f"{'created' if a.transport.status() == 201 else 'there already:'} {made['name']} ({made['id']}), {count}state {made['state']}",
               sys.stdout)
    stays = [name for name in ("budget", "stop_when", "parallelism", "lease_seconds") if name in sweep and differs(sweep[name], made.get(name))]
    if stays and a.transport.status() != 201:
        shell.said(f"the study keeps its own {' and '.join(stays)}: the file's is not taken", sys.stderr)
    if parameters is not None:
        print(f"next: gnomon work --study {made['id']} -- python3 train.py")


def show(a: Asking) -> None:
    study = a.of_study("GET", "")
    if study is None:
        return
    names = ("name", "id", "state", "reason", "seed", "notes", "created_at", "updated_at")
    rows = [(name, cell(study.get(name))) for name in names if study.get(name) not in (None, "")]
    metrics, found = study["metrics"], study.get("best")
    rows.append(("algorithm", study["algorithm"]["name"]))
    rows.append(("metrics", ", ".join(f"{metric['name']} ({metric['goal']})" for metric in metrics)))
    if "parameters" in study["space"]:
        rows.append(("parameters", ", ".join(row["name"] for row in study["space"]["parameters"])))
    rows += [(f"budget {name}", cell(value)) for name, value in (study.get("budget") or {}).items() if value is not None]
    if found:
        rows.append(("best", f"{cell(found['value'])} (trial {found['trial']})"))
    rows += [(f"trials {state}", str(count)) for state, count in study["trials"].items() if count]
    table(rows)


def suggest(a: Asking) -> None:
    worker = {} if a.options["worker"] is None else {"worker": a.options["worker"]}
    reply = a.of_study("POST", "/suggest", {"count": a.options["count"], **worker})
    for trial in reply["trials"] if reply else ():
        print(f"trial {trial['number']}")
        point(trial["point"])


def tell(a: Asking) -> None:
    number, reason = a.operands[1], a.options["failed"]
    reason = a.options["infeasible"] if reason is None else reason
    if not re.fullmatch(r"[1-9]\d*", number, re.ASCII):
        shell.usage(f"a trial is a number, not {number:.40}")
    if reason is None:  # "accuracy=0.9" "cost=3" is one text
        values = result_of(" ".join(a.operands[2:]), [metric["name"] for metric in a.study["metrics"]])
        if values is None or not all(map(math.isfinite, values.values())):
            shell.usage("tell wants a number, or accuracy=0.9 for each metric, or --failed REASON")
        body: Dict[str, Any] = {"values": values}
    else:
        body = {"state": "infeasible" if a.options["failed"] is None else "failed", "reason": reason}
    reply = a.of_study("POST", "/observe", {"trial": int(number), **body})
    if reply is not None:
        best = reply.get("best")
        print(("accepted" if reply["accepted"] else "known already") +
              (f"; the best is {best['value']:.6g} (trial {best['trial']})" if best else ""))


def value_of(trial: Dict[str, Any], metric: Dict[str, Any], is_first: bool) -> Any:
    values = trial.get("values") or {}
    return values[metric["name"]] if metric["name"] in values else trial.get("value") if is_first else None


def print_trials(a: Asking, trials: List[Dict[str, Any]]) -> None:
    metrics = a.study["metrics"]
    names = [row["name"] for row in a.study["space"].get("parameters", ())]
    rows = [["trial", "state", *(metric["name"] for metric in metrics), *names, "took", "worker", "reason"]]
    for trial in trials:
        values = [cell(value_of(trial, metric, metric is metrics[0])) for metric in metrics]
        rows.append([str(trial["number"]), trial["state"], *values, *(cell((trial.get("point") or {}).get(name)) for name in names),
                     took(trial.get("duration_seconds")), trial.get("worker") or "", trial.get("reason") or ""])
    table(rows if any(row[-1] for row in rows[1:]) else [row[:-1] for row in rows])


def list_trials(a: Asking) -> None:
    page = a.of_study("GET", f"/trials?view=basic&limit={a.options['limit']}&order={a.options['sort']}" + a.query("state"))
    if page is not None:
        more(page)
        print_trials(a, page["trials"])


def best(a: Asking) -> None:
    """The best trial; of several objectives the front."""
    metrics = a.study["metrics"]
    is_front = sum(metric["goal"] not in ("constrain", "track") for metric in metrics) > 1
    reply = a.of_study("GET", "/pareto" if is_front else "/best")
    if reply is None:
        return
    if is_front:
        print_trials(a, reply["trials"])
        return
    trial, model = reply.get("trial"), reply.get("model")
    if not trial:
        print("no trial has a value yet")
        return
    values = [(metric["name"], value_of(trial, metric, metric is metrics[0])) for metric in metrics]
    shell.said(f"trial {trial['number']}" + "".join(f"  {name}" + (f" {value:.6g}" if isinstance(value, (int, float)) else "")
                                                    for name, value in values) +
               (f"  (model: {model['mean']:.6g}, standard deviation {model['stddev']:.2g})" if model else ""), sys.stdout)
    point(trial["point"])


def changed(verb: str) -> Callable[[Asking], None]:
    """pause, resume, complete and reopen are called as their routes are."""
    def change(a: Asking) -> None:
        study = a.of_study("POST", f"/{verb}")
        if study is not None:
            shell.said(f"{study['name']} is {study['state']}", sys.stdout)
    return change


def delete(a: Asking) -> None:
    if not a.options["yes"]:
        shell.usage("this deletes the study and all its trials: --yes")
    a.of_study("DELETE", "")
    if not a.options["json"]:
        shell.said(f"{a.study['name']} is deleted", sys.stdout)


class Verb(NamedTuple):
    operands: str
    least: int
    most: int
    run: Callable[[Asking], None]
    help: str


VERBS = {"list": Verb("", 0, 0, list_all, "all studies"),
         "example": Verb("", 0, 0, lambda _: print(EXAMPLE), "an example of FILE, for you to edit"),
         "create": Verb("FILE", 1, 1, create, "make the study of FILE, or find it under its name"),
         "show": Verb("STUDY", 1, 1, show, "what a study is and how far it has come"),
         "ask": Verb("STUDY", 1, 1, suggest, "get a trial"),
         "tell": Verb("STUDY TRIAL VALUE", 2, 10, tell, "report a trial's value, or accuracy=0.9 for each metric"),
         "best": Verb("STUDY", 1, 1, best, "its best trial, or its front"),
         "trials": Verb("STUDY", 1, 1, list_trials, "its trials, with values, parameters and reasons"),
         "pause": Verb("STUDY", 1, 1, changed("pause"), "hand out no trials until resume"),
         "resume": Verb("STUDY", 1, 1, changed("resume"), "go on after a pause"),
         "complete": Verb("STUDY", 1, 1, changed("complete"), "end the study"),
         "reopen": Verb("STUDY", 1, 1, changed("reopen"), "go on after the end"),
         "delete": Verb("STUDY", 1, 1, delete, "delete the study and all its trials")}


def run(options: Dict[str, Any], operands: List[str], program: Optional[List[str]]) -> int:
    verb = VERBS.get(operands[0]) if operands else None
    if verb is None or program is not None:
        shell.usage(f"gnomon study takes one of {', '.join(VERBS)}{hint(operands[0], VERBS) if operands else ''}")
    if not verb.least <= len(operands) - 1 <= verb.most:
        shell.usage(f"it is: gnomon study {operands[0]} {verb.operands}")
    if operands[0] == "example":
        print(EXAMPLE)
        return shell.DONE
    a = Asking(options, shell.connected(options), operands[1:])
    if verb.operands.startswith("STUDY"):
        a.study = shell.study_of(a.transport, a.operands[0])
    verb.run(a)
    return shell.DONE


SUMMARY = "create, list, show and change studies and their trials; STUDY is a name or an id\n\n" + "\n".join(
    f"  {f'{name} {verb.operands}':<22} {verb.help}" for name, verb in VERBS.items())
COMMAND = shell.Command("study", f"{'|'.join(VERBS)} [STUDY]", SUMMARY, TABLE, run)
