"""gnomon work: a program of the user's, run for one trial after the other, on as many machines as there are.
Each slot asks for a trial, runs the program for it, and tells what came of it.  Nothing here waits for long but a request: each slot
does its next step when it can, so that the runs are watched while the service is away, and what could not be told is told later.
The output of a run goes to files and is read there: a pipe would fill while the service is away."""
from __future__ import annotations

import ctypes
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from typing import Any, Dict, List, Optional, Sequence

from . import shell
from .errors import RETRIED, GnomonError
from .shell import Failure, Option
from .transport import Transport

TABLE = (
    *shell.SERVER,
    Option("study", "STUDY", "the name or the id of the study", is_required=True),
    Option("parallel", "N", "how many runs at a time", 1, 1, 1024),
    Option("as", "FORM", "how the program gets its parameters: flags, as --lr=0.01; env, as PARAM_lr in the environment; json, as a JSON object on "
           "standard input.  If the command has {lr}, the value takes its place, and no flags are added; such values are plain: "
           "A-Z a-z 0-9 . _ + / -", "flags", choices=("flags", "env", "json")),
    Option("value", "WHERE", "where the program puts its result, a number, accuracy=0.9 or JSON: last-line, or the name of a file in the folder $GNOMON_RUN",
           "last-line"),
    Option("steps", "PATTERN", "the form of the lines with values after an epoch, such as \"epoch {step}: accuracy {value}\"; with several "
           "metrics each name in place of value; by default, if the study has a stopping rule: step and values with blanks between"),
    Option("trials", "N", "how many trials to run; 0: until the study ends", 0, 0, 1000000),
    Option("timeout", "SECONDS", "end a run after so many seconds, and report the trial as failed; 0: never", 0, 0, 31536000),
    Option("grace", "SECONDS", "the time between SIGTERM and SIGKILL when a run is ended", 10, 0, 3600),
    Option("worker", "NAME", "the worker's own name, under which it gets its unfinished trials again; by default made of "
           "the numbers of the Slurm task, or of host and process"),
    Option("runs", "DIR", "the folder for the output of each run: DIR/STUDY/TRIAL", "gnomon-runs"),
    Option("patience", "SECONDS", "how long the server may be away, while runs go on, before work gives up", 3600, 0, 604800,
           variable="GNOMON_PATIENCE"),
)
PATH_MAX, PIECE, LINE_MAX, FILE_MAX, END_BYTES, REASON_MAX = 480, 65536, 4095, 65536, 8192, 255
LEAVE_SECONDS = 10.0  # for giving back, when the service is away
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER

# ---- what a run is given, and says ----

# Programs that join their words to a text and let a shell read it, often at another machine.
JOINING = ("ssh", "autossh", "rsh", "pdsh", "clush", "mosh", "parallel", "watch")
PLAIN = re.compile(r"[A-Za-z0-9._+/-]*")
SEQUENCE = re.compile("\x1b(?:[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\\[?[0-?]*[ -/]*[0-~]?)")
NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf(?:inity)?|nan)"
PAIR = re.compile(rf"\s*([^=:\s,;]+)[=: \t]+({NUMBER})(?=[\s,;]|$)[\s,;]*", re.I | re.ASCII)


def shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def parameters(study: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    return {row["name"]: row for row in study["space"]["parameters"]}


def places(study: Dict[str, Any]) -> "re.Pattern[str]":
    return re.compile("{(" + "|".join(map(re.escape, parameters(study))) + ")}")


def words_of(program: List[str], study: Dict[str, Any], point: Dict[str, Any], flags: bool) -> List[str]:
    """The program with its arguments for a point: {name} is a value, and if there is none, --name=value stands behind it."""
    place = places(study)
    words = [place.sub(lambda match: shown(point[match[1]]) if match[1] in point else "", word) for word in program]
    if flags and not any(place.search(word) for word in program):
        words += [f"--{name}={shown(value)}" for name, value in point.items()]
    return words


def is_plain(value: Any) -> bool:
    """Whether no shell finds more than a word in it, or than the signs of a list: text in a list may be anything."""
    return bool(PLAIN.fullmatch(value)) if isinstance(value, str) else "\"" not in shown(value)


def variables(point: Dict[str, Any]) -> Dict[str, str]:
    """PARAM_lr and the like; a shell reads letters, digits and _ alone, so that model.lr is PARAM_model_lr, too, if no other is."""
    named = {f"PARAM_{name}": shown(value) for name, value in point.items()}
    plain = [re.sub(r"[^A-Za-z0-9_]", "_", name) for name in named]
    return {**{short: value for short, value in zip(plain, named.values()) if plain.count(short) == 1}, **named}


def check_program(program: List[str], study: Dict[str, Any], flags: bool) -> None:
    """Refuses a program in which a value that the space allows could be read by a shell."""
    def refuse(name: str, text: str, instead: str) -> None:
        shell.usage(f"{name}: \"{text}\" does not stand in a command, where a shell may read it (only A-Z a-z 0-9 . _ + / -, and no - in "
                    f"front): use {instead}")

    used = [match[1] for word in program for match in places(study).finditer(word)]
    for name in used:
        for value in parameters(study)[name].get("values", []):
            if not is_plain(value) or shown(value).startswith("-") and isinstance(value, str):
                refuse(name, shown(value), "--as env, and \"$PARAM_...\" in its place")
    if used or not flags or not any(os.path.basename(word) in JOINING for word in program):
        return
    for name, row in parameters(study).items():
        for value in (name, *row.get("values", [])):
            if not is_plain(value):
                refuse(name, shown(value), "--as json")


def check_point(study: Dict[str, Any], point: Any) -> None:
    """Refuses values that the space does not have; a type that this program does not know has none."""
    def is_number(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    def has(row: Dict[str, Any], value: Any) -> bool:
        if row["type"] in ("double", "int"):
            return is_number(value) and row["min"] <= value <= row["max"] and (row["type"] == "double" or value == int(value))
        same = (one == value and (type(one) is type(value) or (is_number(one) and is_number(value))) for one in row["values"])
        return row["type"] in ("discrete", "categorical") and any(same)
    if not isinstance(point, dict):
        raise Failure("the server's answer has no point of the study's space", shell.INTERNAL)
    for name, value in point.items():
        row = parameters(study).get(name)
        if row is None or not has(row, value):
            raise Failure(f"the server's answer has a value of {name:.100} that the study's space does not have", shell.INTERNAL)


def lines_of(text: str) -> List[str]:
    """Without what steers a terminal; what a progress bar writes over itself is a line."""
    return SEQUENCE.sub("", text.replace("\0", " ")).replace("\r", "\n").split("\n")


def pattern_of(text: str, names: Sequence[str] = ("value",)) -> "re.Pattern[str]":
    """{step} is a whole number from 1, {value} a number, or of several metrics {NAME} for each; white space is any."""
    if any(text.count(f"{{{name}}}") != 1 for name in ("step", *names)):
        shell.usage(f"--steps takes a line with {{step}} and {' and '.join(f'{{{name}}}' for name in names)}, not {text}")
    parts = {"{step}": r"(?P<step>[-+]?\d{1,18})", " ": r"\s+",
             **{f"{{{name}}}": f"(?P<value{i or ''}>{NUMBER})" for i, name in enumerate(names)}}
    words = re.split("(" + "|".join(re.escape(part) for part in parts if part != " ") + r"|\s+)", text.strip())
    return re.compile(r"\s*" + "".join(parts.get(" " if word.isspace() else word, re.escape(word)) for word in words) + r"\s*",
                      re.I | re.ASCII)


def result_of(text: str, metrics: List[str]) -> Optional[Dict[str, float]]:
    """A number, the first metric's; NAME=NUMBER for each; or JSON.  None: no result."""
    text, values = text.strip(), {}
    if re.fullmatch(NUMBER, text, re.I | re.ASCII):
        return {metrics[0]: float(text)}
    if text.startswith("{"):
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return None
        found = {name: read[name] for name in metrics if name in read}
        if not all(type(value) in (int, float) for value in found.values()):
            return None
        return {name: float(value) if abs(value) < 2 ** 1023 else math.inf for name, value in found.items()} or None
    at = 0
    while at < len(text):
        pair = PAIR.match(text, at)
        if pair is None or pair[1] not in metrics:
            return None
        values[pair[1]], at = float(pair[2]), pair.end()
    return values or None


def end_of(path: str) -> List[str]:
    """The last lines of a file that are not empty at its end."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - END_BYTES + 1))
            lines = lines_of(file.read().decode("utf-8", "replace"))
    except OSError:
        return []
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


# ---- processes ----

def make_folder(path: str) -> None:
    """With those above it, for their owner alone."""
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # another slot's, or another worker's
            pass


def own(path: str, flags: int) -> int:
    """An opener of files that only their owner reads."""
    return os.open(path, flags, 0o600)


class Run:
    """A process in a group of its own, with its folder."""

    def __init__(self, folder: str) -> None:
        self.folder, self.code, self.is_over, self.rest = folder, 0, True, b""
        self.process: "Optional[subprocess.Popen[bytes]]" = None
        self.line: Optional[str] = None

    def start(self, words: List[str], environment: Dict[str, str], point: str, as_input: bool) -> None:
        def path(name: str) -> str:
            return os.path.join(self.folder, name)
        make_folder(self.folder)
        with open(path("point.json"), "w", encoding="utf-8", opener=own) as file:
            file.write(point + "\n")
        with open(path("output"), "wb", opener=own) as output, open(path("errors"), "wb", opener=own) as errors, \
                open(path("point.json") if as_input else os.devnull, "rb") as given:
            self.process = subprocess.Popen(words, stdin=given, stdout=output, stderr=errors, env=environment, start_new_session=True)
        self.is_over, self.rest, self.line = False, b"", None
        self.output = open(path("output"), "rb")

    def look(self) -> Optional[str]:
        """The next printed line, until `line` is set to None; None: there is none for now.  One without an end comes in pieces."""
        while self.line is None:
            end = re.search(rb"[\r\n]", self.rest)
            more = b"" if end or len(self.rest) >= PIECE else self.output.read(PIECE)
            self.rest += more
            if more:
                continue
            if end is None and len(self.rest) < PIECE and not (self.is_over and self.rest):
                return None
            line, self.rest = (self.rest[:end.start()], self.rest[end.end():]) if end else (self.rest, b"")
            self.line = lines_of(line.decode("utf-8", "replace"))[0]
        return self.line

    def has_ended(self) -> bool:
        if self.is_over or self.process is None:
            return True
        if hasattr(os, "waitid"):  # macOS has none; there the number is free a moment too early
            has_ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        else:
            has_ended = self.process.poll() is not None
        if not has_ended:
            return False
        self.signal(signal.SIGKILL)  # to its group, before its number is free for others
        self.code, self.is_over = self.process.wait(), True
        return True

    def signal(self, number: int) -> None:
        if not self.is_over and self.process is not None:
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass


def adopts() -> bool:
    """Makes this process the parent of orphans below it, in whatever session."""
    try:
        return bool(ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def has_variable(pid: int, variable: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return os.fsencode(variable) in file.read().split(b"\0")
    except OSError:
        return False


# ---- slots ----

IDLE, RUNNING, ENDING, TELLING = "idle", "running", "ending", "telling"
# How a run may end, and what people read then; the first two are told the service, the last two give the trial back.
BY_ITSELF, LATE, STOPPED, LOST, OVER, BACK = (
    "", "took too long", "stopped", "another worker has it", "ended with the study", "given back")


class Slot:
    def __init__(self, worker: str) -> None:
        self.worker, self.state, self.ask_key = worker, IDLE, ""
        self.run: Run = Run("")
        self.number = self.lease = self.step = 0
        self.step_values: Dict[str, float] = {}
        self.began = self.beat_at = self.beat_every = self.kill_at = 0.0
        self.last = self.reason = self.end = ""
        self.point: Dict[str, Any] = {}
        self.result: Optional[Dict[str, Any]] = None


class Away(Exception):
    """The service cannot be asked now; nothing has changed."""


class Work:
    def __init__(self, options: Dict[str, Any], program: List[str], transport: Transport, study: Dict[str, Any]) -> None:
        self.options, self.program, self.transport, self.study = options, program, transport, study
        self.nonce, self.requests, self.begun, self.told, self.failed = uuid.uuid4().hex[:16], 0, 0, 0, 0
        self.ask_at = self.ask_pause = self.away_since = self.away_until = self.away_pause = self.sweep_at = self.stopped_at = 0.0
        self.is_over = self.is_ending = self.has_news = self.is_stopped = False
        self.failure: Optional[Exception] = None
        stops = isinstance(study.get("stopping"), dict) or study.get("algorithm", {}).get("name") == "bo-bos"
        self.counted = [metric["name"] for metric in study["metrics"] if metric["goal"] != "track"]
        names = self.counted if len(self.counted) > 1 else ["value"]
        text = options["steps"] or (" ".join(f"{{{name}}}" for name in ("step", *names)) if stops else None)
        self.steps = pattern_of(text, names) if text else None
        self.flags = options["as"] == "flags"
        check_program(program, study, self.flags)
        self.runs = os.path.abspath(options["runs"])
        if len(os.fsencode(self.runs)) > PATH_MAX:
            raise Failure(f"--runs: the path is too long: {self.runs:.60}...")
        name = worker_name(options["worker"])
        self.slots = [Slot(name if options["parallel"] == 1 else f"{name}/{i + 1}") for i in range(options["parallel"])]

    # -- the service, which may be away --

    def call(self, method: str, rest: str, body: Any = None, key: str = "") -> Any:
        now = time.monotonic()
        if now < self.away_until:
            raise Away
        try:
            reply = shell.once(self.transport, method, f"/v1/studies/{self.study['id']}{rest}", body, key)
        except GnomonError as failure:
            if failure.status in RETRIED and failure.code != "no_tls":
                self.note_away(failure)
                raise Away from None
            self.note_there()
            raise
        self.note_there()
        return reply

    def note_away(self, failure: GnomonError) -> None:
        now = time.monotonic()
        if not self.away_since:
            shell.said(f"gnomon: {shell.told(failure)}; trying again", sys.stderr)
            self.away_since = now
        self.away_pause = min(max(2 * self.away_pause, 0.1), 5.0)
        self.away_until = now + self.away_pause
        if now - self.away_since > self.options["patience"] and not self.is_ending:
            self.failure, self.is_ending = failure, True

    def note_there(self) -> None:
        if self.away_since:
            shell.said("gnomon: the server is there again", sys.stderr)
        self.away_since = self.away_until = self.away_pause = 0.0

    # -- asking --

    def has_budget(self) -> bool:
        return bool(self.options["trials"] == 0 or self.begun < self.options["trials"])

    def ask(self, slot: Slot) -> None:
        if self.is_over or self.is_ending or not self.has_budget() or time.monotonic() < self.ask_at:
            return
        if not slot.ask_key:
            self.requests += 1
            slot.ask_key = f"work-{self.nonce}-{self.requests}"
        try:
            reply = self.call("POST", "/suggest", {"worker": slot.worker}, slot.ask_key)
        except GnomonError as failure:
            slot.ask_key = ""
            following = failure.problem.get("next")
            if following == "stop":
                self.is_over = True
            elif following == "wait":
                self.ask_pause = min(max(2 * self.ask_pause, 0.25), 10.0)
                self.ask_at = time.monotonic() + self.ask_pause
            else:
                raise
            return
        slot.ask_key, self.ask_pause, self.has_news = "", 0.0, True
        self.take(slot, reply["trials"][0])

    def take(self, slot: Slot, trial: Dict[str, Any]) -> None:
        lease, curve = trial.get("lease") or {}, trial.get("curve") or []
        slot.number, slot.lease, slot.point = trial["number"], lease.get("id", 0), trial.get("point")  # type: ignore[assignment]
        if type(slot.number) is not int or type(slot.lease) is not int or slot.number < 1:
            shell.answer(trial)
        slot.began = time.monotonic()
        slot.beat_every = lease.get("heartbeat_seconds") or 1
        slot.beat_at = slot.began + slot.beat_every
        slot.step = (trial.get("resume") or {}).get("step", 0)
        slot.step_values = curve[-1].get("values", {self.counted[0]: curve[-1]["value"]}) if curve else {}
        slot.last = slot.reason = ""
        again = f"-{slot.lease}" if slot.lease > 1 else ""  # the files of who held it before stay
        slot.run = Run(os.path.join(self.runs, self.study["id"], f"{slot.number}{again}"))
        self.begun += 1
        slot.state, slot.end = ENDING, BACK  # unless it begins
        try:
            self.check_point(slot)
            self.start(slot)
        except Away:
            return
        slot.state, slot.end = RUNNING, BY_ITSELF

    def check_point(self, slot: Slot) -> None:
        """A space grows while its trials are handed out, so that what does not fit is held against the space of now, too."""
        try:
            check_point(self.study, slot.point)
        except Failure:
            now = self.call("GET", "")
            check_point(now, slot.point)
            self.study["space"] = now["space"]
            check_program(self.program, self.study, self.flags)

    def value_path(self, slot: Slot) -> str:
        return os.path.join(slot.run.folder, self.options["value"])

    def start(self, slot: Slot) -> None:
        point = json.dumps(slot.point, separators=(",", ":"))
        environment = {**os.environ, "GNOMON_STUDY": self.study["id"], "GNOMON_TRIAL": str(slot.number), "GNOMON_POINT": point,
                       "GNOMON_RUN": slot.run.folder}
        environment.setdefault("PYTHONUNBUFFERED", "1")  # or a step would be seen when the run is over
        if slot.step > 0:
            environment["GNOMON_RESUME_STEP"] = str(slot.step)
        if self.options["as"] == "env":
            environment.update(variables(slot.point))
        if self.options["value"] != "last-line" and os.path.exists(self.value_path(slot)):
            os.unlink(self.value_path(slot))  # that of an earlier run
        slot.run.start(words_of(self.program, self.study, slot.point, self.flags), environment, point, self.options["as"] == "json")

    # -- watching --

    def end_run(self, slot: Slot, why: str) -> None:
        slot.end, slot.state, slot.kill_at = why, ENDING, time.monotonic() + self.options["grace"]
        slot.run.signal(signal.SIGTERM)
        self.has_news = True

    def report(self, slot: Slot, step: int, values: List[float]) -> None:
        """What was measured after an epoch; a refusal is told, and the run goes on."""
        named = dict(zip(self.counted, values))
        body: Dict[str, Any] = {"lease": slot.lease, "step": step}
        body["values" if len(named) > 1 else "value"] = named if len(named) > 1 else values[0]
        key = f"work-{self.nonce}-{slot.number}-{slot.lease}-step-{step}"
        reply: Dict[str, Any] = {}
        code = ""
        try:
            reply = self.call("POST", f"/trials/{slot.number}/report", body, key)
        except GnomonError as failure:
            code = failure.code
            if code not in ("lease_lost", "trial_not_running", "step_reported"):
                shell.said(f"gnomon: step {step} of trial {slot.number}: {shell.told(failure)}", sys.stderr)
        slot.step, slot.step_values, slot.last = step, named, ""
        slot.beat_at = time.monotonic() + slot.beat_every
        if reply.get("decision") == "stop":
            slot.reason = f"{reply.get('reason') or 'by the study'} at step {step}, value {', '.join(f'{one:.6g}' for one in values)}"[:REASON_MAX]
            self.end_run(slot, STOPPED)
        elif reply.get("next") == "stop":
            self.end_run(slot, OVER)
        elif code in ("lease_lost", "trial_not_running"):
            self.end_run(slot, LOST)

    def read(self, slot: Slot) -> None:
        """The printed lines; a step that could not be reported is read again the next time."""
        while slot.state == RUNNING:
            line = slot.run.look()
            if line is None:
                return
            match = self.steps.fullmatch(line) if self.steps else None
            values = [float(match[f"value{i or ''}"]) for i in range(self.steps.groups - 1)] if match and self.steps else []
            if match and int(match["step"]) >= 1 and all(map(math.isfinite, values)):
                if int(match["step"]) > slot.step:
                    self.report(slot, int(match["step"]), values)
            elif line.strip():
                slot.last = line[:LINE_MAX]
            slot.run.line, self.has_news = None, True

    def beat(self, slot: Slot) -> None:
        if time.monotonic() < slot.beat_at:
            return
        try:
            reply = self.call("POST", f"/trials/{slot.number}/heartbeat", {"lease": slot.lease})
        except GnomonError as failure:
            if failure.status == 409:
                self.end_run(slot, LOST)
            reply = {}
        slot.beat_at = time.monotonic() + slot.beat_every
        if reply.get("next") == "stop":
            self.end_run(slot, OVER)

    def watch(self, slot: Slot) -> None:
        has_ended = slot.run.has_ended()  # asked before the lines are read, so that none is missed
        self.read(slot)
        if slot.state != RUNNING:
            return
        limit = self.options["timeout"]
        if has_ended:
            self.come_to_an_end(slot)
        elif self.is_ending:
            self.end_run(slot, BACK)
        elif limit and time.monotonic() - slot.began > limit:
            self.end_run(slot, LATE)
        else:
            self.beat(slot)

    # -- ends --

    def values(self, slot: Slot) -> Optional[Dict[str, float]]:
        """What it ended with, or None and the reason."""
        metrics = [metric["name"] for metric in self.study["metrics"]]
        where, text = "its last line", slot.last
        if self.options["value"] != "last-line":
            where = self.options["value"]
            try:
                with open(self.value_path(slot), "rb") as file:
                    text = SEQUENCE.sub("", file.read(FILE_MAX).decode("utf-8", "replace"))
            except OSError as failure:
                slot.reason = f"no value: {failure.filename}: {failure.strerror}"
                return None
        elif not text and slot.step > 0:
            return slot.step_values
        values = result_of(text, metrics)
        if values is None:
            slot.reason = f"no value in {where:.60}: {text}" if text or where != "its last line" else "no value: it printed nothing"
        elif not all(map(math.isfinite, values.values())):
            slot.reason, values = "the value is not a finite number", None
        return values

    def observation(self, slot: Slot) -> Dict[str, Any]:
        out = {"trial": slot.number, "lease": slot.lease, "duration_seconds": time.monotonic() - slot.began}
        values = None
        if slot.end == LATE:
            slot.reason = f"took longer than {self.options['timeout']} s"
        elif slot.run.code:
            lines = end_of(os.path.join(slot.run.folder, "errors"))
            slot.reason = (f"exit code {slot.run.code}" if slot.run.code > 0 else f"ended by signal {-slot.run.code}") + \
                (f": {lines[-1]}" if lines else "")
        else:
            values = self.values(slot)
        slot.reason = slot.reason[:REASON_MAX]
        return {**out, "values": values} if values is not None else {**out, "state": "failed", "reason": slot.reason or "failed"}

    def come_to_an_end(self, slot: Slot) -> None:
        self.has_news, self.sweep_at, slot.state = True, 0.0, TELLING  # what the run has left is ended with it
        slot.result = self.observation(slot) if slot.end in (BY_ITSELF, LATE) else None
        if slot.end in (STOPPED, LOST):
            self.told += slot.end == STOPPED
            self.say(slot, slot.end)
            slot.state = IDLE

    def tell(self, slot: Slot) -> None:
        result, said = slot.result or {}, ""
        is_value, reply = "values" in result, {}
        try:
            reply = self.call("POST", "/observe", result, f"work-{self.nonce}-{slot.number}-{slot.lease}-end")
            said = "" if is_value else "failed"
        except GnomonError as failure:
            said = shell.told(failure)
            if failure.status != 409:
                slot.state = IDLE
                self.say(slot, said)
                raise
        self.has_news, slot.state = True, IDLE
        self.say(slot, said)
        self.told += is_value
        self.failed += not is_value
        if not is_value and reply.get("next") == "stop":  # its failure has ended the study
            lines = end_of(os.path.join(slot.run.folder, "errors")) or end_of(os.path.join(slot.run.folder, "output"))
            shell.said("\n".join(lines[-10:]), sys.stderr)

    def give_back(self, slot: Slot) -> None:
        """Waits again for whoever asks next, unless the study is over."""
        body = {"lease": slot.lease, "reason": "the study ended" if slot.end == OVER else "interrupted", "requeue": slot.end == BACK}
        try:
            self.call("POST", f"/trials/{slot.number}/abandon", body, f"work-{self.nonce}-{slot.number}-{slot.lease}-back")
        except GnomonError as failure:
            if failure.status != 409:
                slot.state = IDLE
                raise
        self.has_news, slot.state = True, IDLE
        self.say(slot, slot.end)

    def wait_for_end(self, slot: Slot) -> None:
        if slot.run.has_ended():
            self.come_to_an_end(slot)
        elif time.monotonic() >= slot.kill_at:
            slot.run.signal(signal.SIGKILL)

    def advance(self, slot: Slot) -> None:
        """The next step of a slot."""
        if slot.state == IDLE:
            self.ask(slot)
        elif slot.state == RUNNING:
            self.watch(slot)
        elif slot.state == ENDING:
            self.wait_for_end(slot)
        elif slot.result is not None:
            self.tell(slot)
        else:
            self.give_back(slot)

    # -- what people see --

    def say(self, slot: Slot, what: str) -> None:
        def pairs(values: Dict[str, Any], between: str) -> str:
            return "".join(f"{between}{name}=" + (f"{value:.6g}" if isinstance(value, float) else shown(value))
                           for name, value in values.items())
        seconds = int(time.monotonic() - slot.began)
        said = f"  {what}" + (f": {slot.reason}" if slot.reason else "") if what else pairs((slot.result or {}).get("values") or {}, "  ")
        point = pairs(slot.point, " ") if isinstance(slot.point, dict) else ""
        shell.said(f"trial {slot.number}{said}  {seconds // 60}:{seconds % 60:02d} {point}", sys.stdout)

    def say_study(self, study: Dict[str, Any]) -> None:
        trials, best, metric = study.get("trials") or {}, study.get("best"), study["metrics"][0]
        total = (study.get("budget") or {}).get("trials")
        shell.said(f"{study['name']} ({study['id']})  {metric['goal']} {metric['name']}  {trials.get('completed', 0)}" +
                   (f" of {total}" if total else "") + " trials done" +
                   "".join(f", {trials[name]} {name}" for name in ("stopped", "failed", "infeasible") if trials.get(name)) +
                   (f"  best {best['value']:.6g} (trial {best['trial']})" if best else ""), sys.stdout)

    # -- strays --

    def end_strays(self) -> int:
        """Ends the processes that finished runs have left in sessions of their own, found by the GNOMON_RUN in their environment."""
        ended = 0
        living = [slot.run for slot in self.slots if slot.state != IDLE and not slot.run.is_over]
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
        except OSError:
            return 0
        for pid in children:
            if any(run.process is not None and (run.process.pid == pid or has_variable(pid, f"GNOMON_RUN={run.folder}")) for run in living):
                continue
            ended += 1
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)  # if it has not ended by now, the next call takes its end
            except OSError:
                pass
        return ended

    # -- from the beginning to the end --

    def go_round(self) -> bool:
        """Advances every slot by a step; whether there will be another round."""
        self.has_news = False
        for slot in self.slots:
            try:
                self.advance(slot)
            except Away:
                continue
            except Exception as failure:  # there is nothing to go on with; told when the others have ended
                self.failure = self.failure if self.is_ending else failure
                self.is_ending = True
        if time.monotonic() >= self.sweep_at:
            self.sweep_at = time.monotonic() + 1
            self.end_strays()
        return any(slot.state != IDLE for slot in self.slots) or (not self.is_over and not self.is_ending and self.has_budget())

    def is_patient(self) -> bool:
        """With the service away, what is to be given back stays with its lease in the end."""
        self.is_ending = self.is_ending or self.is_stopped
        if not self.is_ending:
            return True
        self.stopped_at = self.stopped_at or time.monotonic()
        if not self.away_since or time.monotonic() - self.stopped_at < self.options["grace"] + LEAVE_SECONDS:
            return True
        shell.said("gnomon: the server is away: what was running is handed out again when its lease ends", sys.stderr)
        return False

    def stop(self, *_: Any) -> None:
        self.is_stopped = True
        if self.transport.is_asking():
            self.transport.interrupt(threading.get_ident())

    def go_on(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.stop)
        if not adopts():
            shell.said("gnomon: what a run starts in a session of its own is not ended with it on this system", sys.stderr)
        self.say_study(self.study)
        pause, now = 0.002, {}  # type: float, Dict[str, Any]
        try:
            while self.is_patient() and self.go_round():
                pause = 0.002 if self.has_news else min(2 * pause, 0.1)
                time.sleep(pause)
            if not self.away_since:
                try:
                    now = self.call("GET", "")
                    self.say_study(now)
                except (GnomonError, Away):
                    pass
        finally:
            for _ in range(500):
                if not self.end_strays():
                    break
                time.sleep(0.01)
        if self.failure is not None:
            raise self.failure
        if self.is_stopped:
            raise Failure("interrupted", shell.INTERRUPTED)
        # A script must not take it for a success that the study ended because runs fail, or that no run gave a value.
        place, reasons = os.path.join(self.runs, self.study["id"]), (now.get("failures") or {}).get("reasons")
        if now.get("reason") == "too_many_failures" and reasons:
            raise Failure(f"too many runs failed, {reasons[0]['trials']} of them so: {reasons[0]['reason']:.160}; see {place}, then "
                          "reopen the study")
        if self.failed and not self.told:
            raise Failure(f"no run gave a value, {self.failed} failed; see {place}")
        return shell.DONE


def worker_name(given: Optional[str]) -> str:
    """A Slurm job that is queued again has the same numbers, and so finds its trials again."""
    job = os.environ.get("SLURM_ARRAY_JOB_ID") or os.environ.get("SLURM_JOB_ID")
    if given:
        return given[:100]
    if job:
        return f"slurm-{job:.30}-{os.environ.get('SLURM_ARRAY_TASK_ID', '0'):.20}-{os.environ.get('SLURM_PROCID', '0'):.20}"
    return f"{socket.gethostname():.60}-{os.getpid()}-{uuid.uuid4().hex[:8]}"  # containers may share name and number


def run(options: Dict[str, Any], operands: List[str], program: Optional[List[str]]) -> int:
    if operands:
        shell.usage(f"unexpected argument: {operands[0]}")
    if not program:
        shell.usage("work needs a program: gnomon work --study S -- python train.py")
    transport = shell.connected(options)
    study = shell.study_of(transport, options["study"])
    if "parameters" not in study["space"]:
        shell.usage("work is for studies over parameters")
    return Work(options, program or [], transport, study).go_on()


COMMAND = shell.Command("work", "", "run a program for each trial of a study: gnomon work --study S -- python train.py", TABLE, run)
