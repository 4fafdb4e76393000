"""`gnomon export` and `gnomon import`: a study as a file, and back; or trials from a file into a study, all or none; many of them in
parts, each all or none."""
from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from . import shell
from .errors import GnomonError, NotFound
from .transport import Transport

PART_BYTES, PART_TRIALS, LONG_SECONDS = 4 << 20, 2000, 3600.0
COUNTS = ("imported", "queued", "duplicates", "skipped")

EXPORTS = (
    *shell.SERVER,
    shell.Option("study", "STUDY", "the name or the id of the study", is_required=True),
    shell.Option("format", "FORMAT", "ndjson: the whole study, to make it again elsewhere; json: its trials, to bring them into another study; "
                 "csv: the trials as a table", "ndjson", choices=("ndjson", "json", "csv")),
    shell.Option("for-spreadsheet", "", "with csv: an apostrophe before text that a spreadsheet would compute as a formula; do not import such a file",
                 False),
    shell.Option("out", "FILE", "the file to write; by default standard output"),
)
IMPORTS = (
    *shell.SERVER,
    shell.Option("study", "STUDY", "the name or the id of the study that gets the trials of the file; without --study the file is a whole study, and "
                 "becomes a new one"),
    shell.Option("in", "FILE", "FILE; with --study: an export as JSON, {\"observations\":[...]}, or CSV with a column for each parameter "
                 "and \"value\""),
    shell.Option("format", "FORMAT", "auto: csv when the file's name ends in .csv", "auto", choices=("auto", "json", "csv")),
    shell.Option("dry-run", "", "check everything, change nothing", False),
)


def path_of(transport: Transport, study: str) -> str:
    """An id is looked up by nobody: a token may be good for less than a look at its study."""
    return f"/v1/studies/{study if shell.DRAWN.fullmatch(study) else shell.study_of(transport, study)['id']}"


# ---- out ----

def write_to(path: str, pieces: Iterator[bytes]) -> None:
    """The file appears only when it is complete."""
    number, draft = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or ".")
    try:
        with open(number, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def export(options: Dict[str, Any], operands: List[str], program: Optional[List[str]]) -> int:
    if operands or program is not None:
        shell.usage(f"gnomon export takes no {' '.join(operands) or '--'}")
    transport = shell.connected(options)
    path = f"{path_of(transport, options['study'])}/export?format={options['format']}"
    pieces = transport.pieces(path + ("&for=spreadsheet" if options["for-spreadsheet"] else ""))
    if options["out"] is not None:
        write_to(options["out"], pieces)
    elif sys.stdout.isatty():
        shell.said(b"".join(pieces).decode("utf-8", "surrogateescape").rstrip("\n"), sys.stdout)
    else:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return shell.DONE


# ---- in ----

def print_reply(reply: Any) -> None:
    shell.said(json.dumps(reply, separators=(",", ":"), ensure_ascii=False), sys.stdout)


def make_study(transport: Transport, path: str) -> None:
    """In pieces, from the place that the server names."""
    digest, size = hashlib.sha256(), 0
    transport.seconds = LONG_SECONDS
    with open(path, "rb") as file:
        while piece := file.read(1 << 16):
            digest.update(piece)
            size += len(piece)
        if size == 0:
            raise shell.Failure(f"{path} is empty")
        where = f"/v1/imports/{digest.hexdigest()}"
        try:
            reply = shell.once(transport, "GET", where)
        except NotFound:
            reply = {"state": "receiving", "received_bytes": 0}
        while reply["state"] != "complete":
            at = reply["received_bytes"] if reply["received_bytes"] < size else 0
            file.seek(at)
            data = file.read(PART_BYTES)
            reply = transport.send("PUT", where, data, {"Content-Type": "application/x-ndjson",
                                                        "Content-Range": f"bytes {at}-{at + len(data) - 1}/{size}"})
            if reply["state"] != "complete" and reply["received_bytes"] >= size:
                shell.answer(reply)
    print_reply(reply)


def parts_of(document: Dict[str, Any]) -> Iterator[Tuple[int, int, bytes]]:
    """The trials that go into a request: from which, up to which, and its body."""
    start = b"{" + (f'"id":{json.dumps(document["id"])},'.encode() if "id" in document else b"") + b'"trials":['
    texts: List[bytes] = []
    for i, trial in enumerate(document["trials"]):
        texts.append(json.dumps(trial, separators=(",", ":")).encode())
        if len(texts) == PART_TRIALS or sum(map(len, texts)) >= PART_BYTES or i + 1 == len(document["trials"]):
            yield i + 1 - len(texts), i, start + b",".join(texts) + b"]}"
            texts = []


def put_trials(transport: Transport, options: Dict[str, Any], path: str) -> None:
    """Every trial has an identity (its study and number), so that the parts may be sent again, whichever were taken.  An export that
    is too large for one request goes in parts; what else there is has no numbers and goes as it is."""
    is_csv = options["format"] == "csv" or (options["format"] == "auto" and path.endswith(".csv"))
    where = f"{path_of(transport, options['study'])}/import?dry_run={'true' if options['dry-run'] else 'false'}"
    kind = {"Content-Type": "text/csv" if is_csv else "application/json"}
    with open(path, "rb") as file:
        text = file.read()
    try:
        document = None if is_csv else json.loads(text)
    except ValueError:  # which the server says better
        document = None
    trials = document.get("trials") if isinstance(document, dict) else None
    if document is None or not isinstance(trials, list) or (len(text) <= PART_BYTES and len(trials) <= PART_TRIALS):
        print_reply(transport.send("POST", where, text, kind))
        return
    sums = dict.fromkeys(COUNTS, 0)
    for first, last, body in parts_of(document):
        try:
            reply = transport.send("POST", where, body, kind)
        except GnomonError:
            shell.said(f"gnomon: trials {first} to {last} of the document were refused, {first} before them were taken", sys.stderr)
            raise
        for name in COUNTS:
            sums[name] += reply[name]
    print_reply({**sums, "dry_run": options["dry-run"]})


def bring(options: Dict[str, Any], operands: List[str], program: Optional[List[str]]) -> int:
    names: Sequence[str] = operands + [options["in"]] if options["in"] is not None else operands
    if len(names) != 1 or program is not None:
        shell.usage("import needs one FILE")
    if options["study"] is None and options["dry-run"]:
        shell.usage("--dry-run goes with --study")
    with open(names[0], "rb") as file:
        if file.read(16) == b"SQLite format 3\0":
            raise shell.Failure(f"{names[0]} is a database; studies of Optuna's come in by: python3 -m gnomon import-optuna {names[0]}")
    transport = shell.connected(options)
    if options["study"] is None:
        make_study(transport, names[0])
    else:
        put_trials(transport, options, names[0])
    return shell.DONE


EXPORT = shell.Command("export", "", "write a study to a file: the whole study, or its trials as JSON or CSV", EXPORTS, export)
IMPORT = shell.Command("import", "[FILE]", "make a study of an export, or bring trials from JSON or CSV into a study", IMPORTS, bring)
