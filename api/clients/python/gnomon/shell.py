"""The frame of `gnomon study`, `gnomon work` and `gnomon notify`: options from a table, a service, and how a failure is told.  A table has a row for
each option: (its name, what its value is called, or "" for a switch, its help, its default); the default says its type."""
from __future__ import annotations

import io
import ipaddress
import os
import re
import resource
import stat
import sys
import urllib.parse
import uuid
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, NoReturn, Optional, Sequence, TextIO, Tuple

from .errors import GnomonError, hint
from .transport import Transport

DONE, FAILED, USAGE, UNREACHABLE, INTERNAL, INTERRUPTED = 0, 1, 64, 69, 70, 75
PROGRAM = "gnomon"  # that handed over
DRAWN = re.compile(r"std_[a-z2-7]{16}")
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")  # what follows is shown in another order than it has


class Failure(Exception):
    """What ends a command: its text for people, and the exit code."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


class Option(NamedTuple):
    name: str
    value: str
    help: str
    default: Any = None
    least: int = 0
    most: int = 0
    choices: Tuple[str, ...] = ()
    variable: str = ""
    is_required: bool = False


SERVER = (
    Option("server", "URL", "the address of the server", "http://127.0.0.1:8080", variable="GNOMON_SERVER"),
    Option("token-file", "FILE", "a file with the token; without it, GNOMON_TOKEN has the token", variable="GNOMON_TOKEN_FILE"),
    Option("cacert", "FILE", "certificates (PEM) of the authorities that may vouch for an https:// server, instead of the system's",
           variable="GNOMON_CACERT"),
    Option("insecure-http", "", "allow http:// to another machine: anybody in between reads the token and everything else", False),
)


def usage(text: str) -> NoReturn:
    raise Failure(text, USAGE)


def plain(text: str) -> str:
    """Text of others for a terminal: what could steer it is shown as bytes."""
    def shown(letter: str) -> str:
        if letter >= " " and not "\x7f" <= letter <= "\x9f" and not "\ud800" <= letter <= "\udfff" and not TURNING.match(letter):
            return letter
        try:
            return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogatepass"))
    return "".join(map(shown, text))


def said(text: str, stream: TextIO) -> None:
    stream.write("\n".join(map(plain, text.split("\n"))) + "\n")
    stream.flush()


def taken(option: Option, text: str) -> Any:
    """The value that the text stands for."""
    name = f"--{option.name}"
    if option.default is False:
        if text not in ("0", "1", "true", "false"):
            usage(f"{name} takes 0 or 1, not: {text}")
        return text in ("1", "true")
    if option.most:
        if not re.fullmatch(r"[-+]?\d+", text, re.ASCII):
            usage(f"{name} takes a whole number, not: {text}")
        if not option.least <= int(text) <= option.most:
            usage(f"{name} is {int(text)}, not in {option.least}..{option.most}")
        return int(text)
    if option.choices and text not in option.choices:
        usage(f"{name} takes one of {'|'.join(option.choices)}, not {text}{hint(text, option.choices)}")
    if option.value not in ("FILE", "DIR") and not is_text(text):
        usage(f"{name} takes text in UTF-8, not: {text}")
    return text


def is_text(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def read(table: Sequence[Option], arguments: List[str]) -> Tuple[Dict[str, Any], List[str]]:
    """The options by their names, and the operands."""
    found = {row.name: taken(row, os.environ[row.variable]) if row.variable in os.environ else row.default for row in table}
    rows, operands, words = {row.name: row for row in table}, [], iter(arguments)
    for word in words:
        if not word.startswith("--"):
            operands.append(word)
            continue
        name, equals, text = word[2:].partition("=")
        if name not in rows:
            usage(f"there is no option --{name}" + (hint(name, rows, "--") or "; --help lists the options"))
        if not equals and rows[name].default is not False:
            given = next(words, None)
            if given is None:
                usage(f"--{name} needs a value")
            text = given
        found[name] = taken(rows[name], text if equals or rows[name].default is not False else "1")
    for row in table:
        if row.is_required and not found[row.name]:
            usage(f"--{row.name} is missing")
    return found, operands


def help_of(table: Sequence[Option]) -> str:
    def line(row: Option) -> str:
        default = row.default is not None and row.default is not False
        return (f"  --{row.name}{' ' if row.value else ''}{row.value}\n      {row.help}" +
                (f"; one of {'|'.join(row.choices)}" if row.choices else "") + (f"; {row.least}..{row.most}" if row.most else "") +
                (f"; default {row.default}" if default else "") + ("; required" if row.is_required else "") +
                (f" [{row.variable}]" if row.variable else ""))
    return "\n".join(map(line, table))


# ---- the service ----

def private_text(path: str) -> str:
    """Of a file that is its owner's alone."""
    with open(path, encoding="utf-8", errors="replace") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and mode & 0o077:
            raise Failure(f"{path} has mode {mode:04o}: others may have read or changed it. Once that is ruled out: chmod 600 {path}")
        return file.read(300)


def token_of(path: Optional[str]) -> str:
    """From the file, or from the environment, which the programs of others do not see it in."""
    text = os.environ.pop("GNOMON_TOKEN", "")
    return (text if path is None else private_text(path)).strip()


def is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def connected(options: Dict[str, Any]) -> Transport:
    token = token_of(options["token-file"])
    if not token:
        usage("there is no token: set GNOMON_TOKEN or --token-file; on the server's machine, gnomon token create --name me --scope write makes one")
    try:
        transport = Transport(options["server"], token, 0, options["cacert"])
    except ValueError as failure:
        raise Failure(f"--server: {failure}") from None
    if options["cacert"] is not None:
        open(options["cacert"], "rb").close()  # before the first request, which would try again
    parts = urllib.parse.urlsplit(transport.url)
    if parts.scheme == "http" and not is_here(parts.hostname or "") and not options["insecure-http"]:
        raise Failure(f"http:// to {parts.hostname} would send the token and everything else readable for all in between: "
                      "use https://, or say --insecure-http")
    return transport


def once(transport: Transport, method: str, path: str, body: Any = None, key: str = "") -> Any:
    """The JSON of the answer.  A connection that was kept open may have been closed meanwhile: then, and only then, twice."""
    headers = {"Idempotency-Key": key or uuid.uuid4().hex} if method == "POST" else {}
    try:
        return transport.call(method, path, body, headers, 0)
    except GnomonError as failure:
        if failure.code != "no_connection":
            raise
    return transport.call(method, path, body, headers, 0)


def quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="-_~.")


def answer(reply: Any) -> NoReturn:
    raise Failure("the server's answer is not understood", INTERNAL)


def study_of(transport: Transport, name: str) -> Dict[str, Any]:
    """The study with this id or this name."""
    if not is_text(name):
        usage(f"not in UTF-8: {name}")
    if DRAWN.fullmatch(name):
        study = once(transport, "GET", f"/v1/studies/{name}")
    else:
        found = once(transport, "GET", f"/v1/studies?name={quoted(name)}&limit=2")["studies"]
        if not found:
            raise Failure(f"there is no study called {name}; gnomon study create FILE makes one")
        if len(found) > 1:
            raise Failure(f"several studies are called {name}; give the id of one, which gnomon study list shows")
        study = found[0]
    if not isinstance(study, dict) or not isinstance(study.get("id"), str) or not DRAWN.fullmatch(study["id"]) or \
            (DRAWN.fullmatch(name) and study["id"] != name):
        answer(study)
    return study


def told(failure: GnomonError) -> str:
    """A refusal, and where it is; of several mistakes a line for each."""
    http = "" if failure.status == 599 else f" (HTTP {failure.status})"
    if len(failure.errors) > 1:
        return "\n  ".join([f"{len(failure.errors)} mistakes{http}:", *failure.places()])
    text = f"{failure.detail or failure.code or 'refused'}{http}"
    for error in failure.errors:
        where, why = error.get("pointer") or error.get("parameter") or "", error.get("detail", "")
        text += (f" at {where}" if where else "") + (f": {why}" if why != failure.detail else "")
    return text


# ---- a command ----

class Command(NamedTuple):
    name: str
    operands: str
    summary: str
    table: Sequence[Option]
    run: Callable[[Dict[str, Any], List[str], Optional[List[str]]], int]


def execute(command: Command, arguments: List[str]) -> int:
    """Runs it, tells what went wrong, and returns the exit code."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    program = arguments[at + 1:] if at < len(arguments) else None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # a token is in memory
    try:
        if "--help" in arguments[:at]:
            print(f"usage: gnomon {command.name} {command.operands}{' ' if command.operands else ''}[options]\n{command.summary}\n\n"
                  f"{help_of(command.table)}", flush=True)
            return DONE
        return command.run(*read(command.table, arguments[:at]), program)
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except Failure as failure:
        text, code = str(failure), failure.code
    except GnomonError as failure:
        text, code = told(failure), UNREACHABLE if failure.code in ("no_connection", "no_tls") else FAILED
        code = INTERNAL if failure.status in (500, 501) or failure.code == "not_json" else code
        text += "; --cacert FILE names the authority of a private network" if "CERTIFICATE_VERIFY_FAILED" in text else ""
    except OSError as failure:
        text, code = f"{failure.filename}: {failure.strerror}" if failure.filename else str(failure), FAILED
    except ValueError as failure:  # NaN, or half a character, in what was to be sent
        text, code = str(failure), FAILED
    except (KeyError, TypeError, AttributeError, IndexError):
        text, code = "the server's answer is not understood", INTERNAL
    said(f"gnomon: {text}", sys.stderr)
    return code
