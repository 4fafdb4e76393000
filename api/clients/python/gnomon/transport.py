"""One request and its repetitions.  A connection for each thread and process, kept alive; a POST carries a key made before its
first try, so that a repetition changes nothing.  Knows nothing of studies."""
from __future__ import annotations

import http.client
import json
import logging
import math
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
import weakref
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from .errors import RETRIED, Unavailable, refusal

log = logging.getLogger("gnomon")
AWAY_TRIES = 3  # after so many the user is told why nothing happens
FIRST_SECONDS = 3.0  # patience with an address that has never answered: it may be wrong
SECONDS = 90.0  # the longest that one answer takes: a held-back suggest has 60 s, a computation 30


class Line:
    """A thread's connection, and the bell that ends its waiting."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.connection: Optional[http.client.HTTPConnection] = None
        self.bell = threading.Event()
        self.asked: Optional[Tuple[str, str, Optional[bytes], Dict[str, str]]] = None  # and had no answer
        self.status = 0  # of the last answer

    def drop(self) -> None:
        """An answer that is not waited for any more must not be taken for another's."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def shut(self) -> None:
        """Wakes the thread that reads from it."""
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Transport:
    """Sends requests to one address with one token."""

    def __init__(self, url: str, token: str, patience: float = 60.0, ca: Optional[str] = None) -> None:
        parts = address_of(url)
        token = token.strip() if isinstance(token, str) else ""  # a file with a token ends with a line's end
        if not token or not all("!" <= letter <= "~" for letter in token):
            raise ValueError("a token is one word of letters, digits and signs")  # it is a secret, and not shown
        self.url, self.token, self.patience, self.ca = parts.geturl().rstrip("/"), token, patience, ca
        self._address, self.has_answered, self.seconds = parts, False, SECONDS
        self._reset()

    def _reset(self) -> None:
        self._own = threading.local()
        self._lines: "weakref.WeakValueDictionary[int, Line]" = weakref.WeakValueDictionary()

    def __getstate__(self) -> Dict[str, Any]:
        return {"url": self.url, "token": self.token, "patience": self.patience, "ca": self.ca, "has_answered": self.has_answered}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        has_answered = state.pop("has_answered")
        Transport.__init__(self, **state)
        self.has_answered = has_answered

    def _line(self) -> "Line":
        """This thread's own; a process that was forked does not touch those of its parent."""
        line: Optional[Line] = getattr(self._own, "line", None)
        if line is None or line.process != os.getpid():
            line = self._own.line = Line()
            self._lines[threading.get_ident()] = line
        return line

    def _connection(self, line: "Line") -> http.client.HTTPConnection:
        if line.connection is None:
            host, port = self._address.hostname or "", self._address.port
            seconds = SECONDS if self.has_answered else FIRST_SECONDS
            if self._address.scheme == "https":
                context = ssl.create_default_context(cafile=self.ca)
                line.connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
            else:
                line.connection = http.client.HTTPConnection(host, port, timeout=seconds)
            line.connection.connect()
            line.connection.sock.settimeout(self.seconds)
        return line.connection

    def interrupt(self, thread: int) -> None:
        """Ends what that thread waits for: its call raises Unavailable with the code `interrupted`."""
        line = self._lines.get(thread)
        if line is not None:
            line.bell.set()
            line.shut()

    def status(self) -> int:
        """HTTP's, of this thread's last answer."""
        return self._line().status

    def is_asking(self) -> bool:
        """Whether this thread is in the middle of a request."""
        return self._line().asked is not None

    def close(self) -> None:
        """Closes the connections of all threads; the next call opens one."""
        for line in list(self._lines.values()):
            line.shut()
        self._reset()

    def _once(self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str]) -> Tuple[int, Any, Any]:
        """(status, headers, JSON); 599 without an answer."""
        line = self._line()
        line.asked = method, path, body, headers
        try:
            connection = self._connection(line)
            connection.request(method, self._address.path.rstrip("/") + path, body, headers)
            reply = connection.getresponse()
            data, line.status = reply.read(), reply.status
            if reply.status != 204 and reply.getheader("Content-Length") is None and not reply.chunked:
                raise http.client.IncompleteRead(data)  # broken off among its headers
        except (OSError, http.client.HTTPException) as failure:
            line.drop()
            hint = "" if self.has_answered else "; nothing has answered at this address yet"
            return 599, {}, {"code": "no_tls" if is_no_tls(failure) else "no_connection",
                             "detail": f"{self.url}: {type(failure).__name__}: {failure}{hint}"}
        except BaseException:  # Ctrl-C in the middle
            line.drop()
            raise
        line.asked, self.has_answered = None, True
        try:
            return reply.status, reply.headers, json.loads(data) if data else None
        except ValueError:
            return (reply.status, reply.headers, {"code": "not_json", "detail": data[:200].decode("utf-8", "replace")})

    def call(self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None,
             patience: Optional[float] = None) -> Any:
        """The JSON of the answer.  What may pass is asked again: after Retry-After, else after 0.1 s, doubled up to 5 s
        and shortened by chance, until the patience is over: three seconds at an address that has never answered."""
        send = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **(headers or {})}
        data = None
        if body is not None:
            send["Content-Type"] = "application/json"
            data = encoded(body)
        if method == "POST":
            send.setdefault("Idempotency-Key", uuid.uuid4().hex)
        begun, most = time.monotonic(), self.patience if patience is None else patience
        pause, tries = 0.1, 0
        bell = self._line().bell
        while True:
            status, head, reply = self._once(method, path, data, send)
            if status < 400:
                return reply
            end = begun + (most if self.has_answered else min(most, FIRST_SECONDS))
            problem = reply if isinstance(reply, dict) else {"detail": str(reply)}
            failure = refusal(status, explained(problem, body))
            wait = retry_after(head) or pause * random.uniform(0.5, 1)
            if bell.is_set():
                wait = 0.0
            elif status not in RETRIED or failure.code == "no_tls" or time.monotonic() + wait >= end:
                raise failure
            tries += 1
            if isinstance(failure, Unavailable):
                log.log(logging.WARNING if tries == AWAY_TRIES else logging.INFO, "%s %s: %s; asking again for %.0f s",
                        method, path, failure, max(0.0, end - time.monotonic()))
            self.sleep(wait)
            pause = min(2 * pause, 5.0)

    def send(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Any:
        """The JSON of the answer to these bytes, which are sent once."""
        status, _, reply = self._once(method, path, data, {"Authorization": f"Bearer {self.token}", **headers})
        if status >= 400 or (isinstance(reply, dict) and reply.get("code") == "not_json"):
            raise refusal(status, reply if isinstance(reply, dict) else {"detail": str(reply)})
        return reply

    def pieces(self, path: str) -> Iterator[bytes]:
        """The bytes of an answer, as they come."""
        line = self._line()
        try:
            connection = self._connection(line)
            connection.request("GET", self._address.path.rstrip("/") + path, None, {"Authorization": f"Bearer {self.token}"})
            reply = connection.getresponse()
            while reply.status < 400 and (piece := reply.read(1 << 16)):
                yield piece
            data = reply.read()
            if reply.length:
                raise http.client.IncompleteRead(data, reply.length)
        except (OSError, http.client.HTTPException) as failure:
            line.drop()
            raise refusal(599, {"code": "no_tls" if is_no_tls(failure) else "no_connection",
                                "detail": f"{self.url}: {type(failure).__name__}: {failure}"}) from None
        if reply.status >= 400:
            try:
                problem = json.loads(data)
            except ValueError:
                problem = None
            raise refusal(reply.status, problem if isinstance(problem, dict) else {"detail": data[:200].decode("utf-8", "replace")})

    def settle(self, path: str) -> None:
        """Sends once more what was asked for there without an answer: the service may still be at it, and when the same
        request under the same key is answered it has done what it will do."""
        line = self._line()
        if line.asked is not None and line.asked[1] == path:
            method, path, body, headers = line.asked
            self._connection(line).timeout = 5.0
            self._once(method, path, body, {name: text for name, text in headers.items() if name != "Prefer"})
            line.drop()

    def sleep(self, seconds: float) -> None:
        """Until then, or until `interrupt`."""
        bell = self._line().bell
        if bell.wait(seconds):
            bell.clear()
            raise Unavailable(599, {"code": "interrupted", "detail": "interrupted"})

    def pages(self, path: str, member: str, limit: int = 1000) -> Iterator[Any]:
        """The items of a list, page by page."""
        mark = "&" if "?" in path else "?"
        cursor: Optional[str] = None
        while True:
            more = "" if cursor is None else "&cursor=" + urllib.parse.quote(str(cursor))
            page = self.call("GET", f"{path}{mark}limit={limit}{more}")
            yield from page[member]
            cursor = page["next_cursor"]
            if cursor is None:
                return


def address_of(url: str) -> urllib.parse.SplitResult:
    """Its parts that requests have: no user, password or query.  One that is not understood may have a secret anywhere, and is
    not shown."""
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("not an address of http or https: http://HOST:PORT or https://HOST:PORT is one")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")


def is_no_tls(failure: BaseException) -> bool:
    """A certificate that is not believed, or a service without TLS: the next try would see the same."""
    return isinstance(failure, ssl.SSLCertVerificationError) or getattr(failure, "reason", None) == "WRONG_VERSION_NUMBER"


def encoded(body: Any) -> bytes:
    """As JSON, with numbers and lists of numpy as Python's."""
    whole(body)
    try:
        return json.dumps(body, allow_nan=False, default=listed).encode()
    except ValueError:
        raise ValueError(f"NaN and infinity cannot be sent: {not_finite(body) or body!r}") from None


def whole(body: Any) -> None:
    """ValueError for half a character (os.fsdecode makes them of bytes that are no text), which no request can have."""
    if isinstance(body, str) and not body.isascii():
        try:
            body.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{body!r:.100} is no text: it has half a character, a lone surrogate") from None
    elif isinstance(body, Mapping):
        for name, value in body.items():
            whole(name)
            whole(value)
    elif isinstance(body, (list, tuple)):
        for value in body:
            whole(value)


def listed(value: Any) -> Any:
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be sent: {value!r:.200}")


def not_finite(body: Any) -> str:
    """Where the first such number is: stop_when["better_than"]."""
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, (list, tuple)) else ()
    for name, value in items:
        if isinstance(value, float) and not math.isfinite(value):
            return f"[{json.dumps(name)}]"
        if found := not_finite(value):
            return f"[{json.dumps(name)}]{found}"
    return ""


def named_server() -> Optional[str]:
    """The address in the environment; an earlier version called it GNOMON_URL."""
    return os.environ.get("GNOMON_SERVER") or os.environ.get("GNOMON_URL")


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds; 0 when the answer does not say."""
    try:
        return max(0.0, float(headers.get("Retry-After") or 0))
    except ValueError:  # a proxy may give a date
        return 1.0


def explained(problem: Dict[str, Any], body: Any) -> Dict[str, Any]:
    """The problem with its pointers in words: /space/parameters/0/max is space["lr"]["max"] of the request."""
    for error in problem.get("errors", []):
        place, words = body, ""
        for step in (error.get("pointer") or "").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                place = place[int(step)] if isinstance(place, list) else place[step]
            except (LookupError, TypeError, ValueError):
                place = None
            if isinstance(place, dict) and "name" in place and step.isdigit():
                words += f"[{json.dumps(place['name'])}]"
            elif step.isdigit():
                words += f"[{step}]"
            elif step != "parameters":
                words += f"[{json.dumps(step)}]" if words else step
        if words:
            error["pointer"] = words
    return problem
