"""`gnomon notify`: webhooks.  Follows the log of a server, beside it or anywhere else, and posts what is worth a message to one
address.  The server knows nothing of it: its process holds no address of others, no secret, and waits for none.

The log is the queue, on the server's disk: here is one page of it, and in a file how far it has been sent.  That file is written
after a message has arrived, so each arrives at least once, in order; the same message has the same id.  The program may therefore
end at any moment, and does so at a signal.  A message names a study or a federation, the event, and a number; never a point, a
value or a text of somebody's."""
from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ipaddress
import json
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from . import shell
from .errors import GnomonError
from .transport import Transport

WAIT_SECONDS, PAGE_EVENTS, CONNECT_SECONDS, ANSWER_SECONDS, PAUSE, PAUSE_MOST = 30, 1000, 5.0, 15.0, 0.5, 300.0
PLACE = re.compile("([0-9]{1,18}) ([0-9a-f]{0,256})\n")
SECRET = re.compile("whsec_([A-Za-z0-9+/_-]{32,43})=*")
ID = re.compile("[a-z0-9_]*")

TABLE = (
    *shell.SERVER,
    shell.Option("to", "URL", "the address that gets the messages; redirects are refused", variable="GNOMON_NOTIFY_TO",
                 is_required=True),
    shell.Option("secret-file", "FILE", "the secret that signs messages: whsec_ and 24 to 32 bytes in base64; mode 0600",
                 variable="GNOMON_NOTIFY_SECRET_FILE", is_required=True),
    shell.Option("place-file", "FILE", "the place of the last message in the log; the first start makes the file, and messages are about later events",
                 variable="GNOMON_NOTIFY_PLACE_FILE", is_required=True),
    shell.Option("on", "KINDS", "the events, with commas: completed (a study ended, for any reason), target and budget (a study "
                 "reached its target, or spent its budget), failed (a trial failed), privacy (the budget of a federation is low)",
                 "completed,failed,privacy", variable="GNOMON_NOTIFY_ON"),
    shell.Option("low", "PERCENT", "the share of a federation's budget that is spent when the budget counts as low", 80, 1, 100, variable="GNOMON_NOTIFY_LOW"),
    shell.Option("give-up", "SECONDS", "how long to try a message that does not arrive, before the next", 86400, 0, 31536000,
                 variable="GNOMON_NOTIFY_GIVE_UP"),
    shell.Option("to-cacert", "FILE", "certificates (PEM) of the authorities that may vouch for the receiver, instead of the system's",
                 variable="GNOMON_NOTIFY_TO_CACERT"),
    shell.Option("allow-private", "", "allow addresses of this machine and of private networks", False),
    shell.Option("once", "", "send the waiting messages and end", False),
    shell.Option("patience", "SECONDS", "how long the server may be away before notify gives up", 300, 0, 604800, variable="GNOMON_PATIENCE"),
)


class Kind(NamedTuple):
    """The lines of the log that a word means; reasons: only with these."""
    event: str
    reasons: Tuple[str, ...] = ()


KINDS = {"completed": Kind("study.completed"), "target": Kind("study.completed", ("target_reached",)),
         "budget": Kind("study.completed", ("budget_exhausted", "time_exhausted", "cost_exhausted")), "failed": Kind("trial.failed"),
         "privacy": Kind("round.closed")}  # the last by what the federation has spent


def wanted(words: str) -> List[Kind]:
    found = [word for word in words.split(",") if word]
    for word in found or [words]:
        if word not in KINDS:
            shell.usage(f"--on takes some of {','.join(KINDS)}" + (f", not {word}" if word else ""))
    return [KINDS[word] for word in found]


# ---- the receiver ----

SPECIAL = [ipaddress.ip_network(block) for block in (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
    "192.168.0.0/16", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
GLOBAL = ipaddress.ip_network("2000::/3")  # global unicast of IPv6, less the reserved blocks above
WITH_4 = [ipaddress.ip_network(block) for block in ("::ffff:0:0/96", "64:ff9b::/96")]  # the latter where there is IPv6 alone


def is_public(text: str) -> bool:
    """Whether this is an address of the internet."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if any(address in block for block in WITH_4):
        address = ipaddress.ip_address(int(address) & 0xffffffff)
    return not any(address in block for block in SPECIAL) and (address.version == 4 or address in GLOBAL)


class Unsent(Exception):
    """A message that did not arrive; another try may help."""


class Receiver:
    """Where messages are posted."""

    def __init__(self, options: Dict[str, Any]) -> None:
        to, self.ca, self.is_public = options["to"], options["to-cacert"], not options["allow-private"]
        if "://" in to and not re.match("https?://", to):
            raise shell.Failure("--to takes http://HOST:PORT or https://HOST:PORT")
        match = re.fullmatch("(https?)://(?:([^/?#]*)@)?([^/?#@]+)(/[!-~]*)", to)
        try:
            parts = urllib.parse.urlsplit(f"//{match[3]}" if match is not None else "")
            self.host, self.port = parts.hostname or "", parts.port
        except ValueError:
            self.host = ""
        if match is None or not self.host:
            raise shell.Failure("--to takes https://HOST/PATH")
        self.is_tls, self.origin, self.path = match[1] == "https", f"{match[1]}://{match[3]}", match[4]
        self.user = base64.b64encode(urllib.parse.unquote_to_bytes(match[2])).decode() if match[2] else ""
        if self.ca is not None and not os.access(self.ca, os.R_OK):
            raise shell.Failure(f"--to-cacert {self.ca}: there is no file that can be read")
        if self.is_public and not self._may_be_public():
            self._private()
        if not (self.is_tls or options["insecure-http"] or shell.is_here(self.host)):
            raise shell.Failure(f"http:// to {self.host} would send everything readable for all in between: use https://, or say "
                                "--insecure-http")
        self.context = ssl.create_default_context(cafile=self.ca) if self.is_tls else None

    def _addresses(self) -> Sequence[Tuple[Any, ...]]:
        return socket.getaddrinfo(self.host, self.port or (443 if self.is_tls else 80), type=socket.SOCK_STREAM)

    def _may_be_public(self) -> bool:
        try:
            return any(is_public(address[4][0]) for address in self._addresses())
        except (OSError, UnicodeError):
            return True

    def _private(self) -> NoReturn:
        raise shell.Failure(f"--to {self.origin} has an address that is not of the internet: --allow-private allows it")

    def _connect(self) -> socket.socket:
        """Sees each address just before it is connected to: what a name stood for earlier does not matter."""
        failure: Exception = OSError("it has no address")
        met_private = False
        for family, kind, protocol, _, address in self._addresses():
            if self.is_public and not is_public(address[0]):
                met_private = True
                continue
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(CONNECT_SECONDS)
                sock.connect(address)
                return sock
            except OSError as why:
                sock.close()
                failure = why
        if met_private:
            self._private()
        raise failure

    def _send(self, headers: Dict[str, str], body: bytes) -> int:
        """HTTP's number of the answer, whose words are not read."""
        kind = http.client.HTTPSConnection if self.is_tls else http.client.HTTPConnection
        connection = kind(self.host, self.port, timeout=ANSWER_SECONDS)
        sock = self._connect()
        late = threading.Timer(ANSWER_SECONDS, shut, (sock,))
        late.daemon = True
        late.start()
        try:
            sock.settimeout(ANSWER_SECONDS)
            connection.sock = self.context.wrap_socket(sock, server_hostname=self.host) if self.context is not None else sock
            connection.request("POST", self.path, body, headers)
            return int(connection.getresponse().status)
        finally:
            late.cancel()
            connection.close()
            sock.close()

    def post(self, headers: Dict[str, str], body: bytes) -> None:
        if self.user:
            headers["Authorization"] = f"Basic {self.user}"
        try:
            status = self._send(headers, body)
        except ssl.SSLCertVerificationError as failure:
            raise shell.Failure(f"{self.origin}: {failure.verify_message}; --to-cacert FILE names the authority of a private "
                                "network") from None
        except (OSError, UnicodeError, http.client.HTTPException) as failure:
            raise Unsent(f"{self.origin}: {failure or type(failure).__name__}") from None
        if status // 100 != 2:
            raise Unsent(f"{self.origin}: HTTP {status}" + (", a redirect, which is not followed" if status // 100 == 3 else ""))


def shut(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass


# ---- following ----

def key_of(path: str) -> bytes:
    """standardwebhooks.com has this form of it."""
    match = SECRET.fullmatch(shell.private_text(path).strip())
    try:
        digits = match[1].translate(str.maketrans("-_", "+/")) if match is not None else ""
        key = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError:
        key = b""
    if not 24 <= len(key) <= 32:
        shell.usage("the secret must be whsec_ and 24 to 32 bytes in base64: echo whsec_$(openssl rand -base64 32)")
    return key


class Notify:
    def __init__(self, options: Dict[str, Any]) -> None:
        self.options, self.kinds, self.key = options, wanted(options["on"]), key_of(options["secret-file"])
        self.server: Transport = shell.connected(options)
        self.receiver, self.seq, self.cursor = Receiver(options), 0, ""  # the last event that is done with; "": of the whole log

    def ask(self, path: str) -> Any:
        """With patience, which begins anew with each answer."""
        end, pause = time.monotonic() + self.options["patience"], 0.1
        while True:
            try:
                return self.server.call("GET", path, patience=0)
            except GnomonError as failure:
                if failure.status not in (429, 502, 503, 504, 507, 599) or failure.code == "no_tls" or time.monotonic() >= end:
                    raise
                if pause == 0.1:
                    shell.said(f"gnomon: {shell.told(failure)}; trying again", sys.stderr)
            time.sleep(pause)
            pause = min(2 * pause, 5.0)

    def read_place(self) -> bool:
        """False: there is none yet."""
        path = self.options["place-file"]
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                match = PLACE.fullmatch(file.read(400))
        except FileNotFoundError:
            return False
        if match is None:
            raise shell.Failure(f"{path} is not what this program has written there")
        self.seq, self.cursor = int(match[1]), match[2]
        return True

    def write_place(self) -> None:
        path = self.options["place-file"]
        with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f"{self.seq} {self.cursor}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.new", path)

    def message(self, event: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """About this event; None: there is none."""
        detail = event["detail"] or ""
        kind = next((kind for kind in self.kinds if kind.event == event["kind"] and (not kind.reasons or detail in kind.reasons)), None)
        if kind is None:
            return None
        made = {"type": event["kind"], "timestamp": event["at"], "data": {"seq": event["seq"]}}
        if kind is KINDS["privacy"]:
            return self.about_round(detail, made)
        made["data"]["study"] = event["study"]
        made["data"].update({"trial": event["trial"]} if isinstance(event.get("trial"), int) else {"reason": detail})
        return made

    def about_round(self, detail: str, made: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """With each round from the one on with which so much is spent."""
        match = re.match("([a-z0-9_]{1,40}) ([0-9]{1,9})", detail)
        if match is None:
            shell.answer(made)
        try:
            guarantee = self.ask(f"/v1/federations/{match[1]}/privacy?limit=1")["guarantee"]
        except GnomonError as failure:
            if failure.status == 404:  # the federation was deleted since
                return None
            raise
        spent, budget = guarantee["epsilon_spent"], guarantee["epsilon_budget"]
        if not (budget > 0 and spent >= budget * self.options["low"] / 100):
            return None
        made["data"].update(federation=match[1], round=int(match[2]), epsilon_spent=spent, epsilon_budget=budget)
        return {**made, "type": "privacy.low"}

    def deliver(self, name: str, body: bytes) -> None:
        """Posts until the message has arrived, or is given up."""
        end, pause = time.monotonic() + self.options["give-up"], PAUSE
        while True:
            now = int(time.time())  # of this try: receivers refuse what is old
            mac = hmac.new(self.key, f"{name}.{now}.".encode() + body, hashlib.sha256).digest()
            try:
                return self.receiver.post({"Content-Type": "application/json", "webhook-id": name, "webhook-timestamp": str(now),
                                           "webhook-signature": "v1," + base64.b64encode(mac).decode()}, body)
            except Unsent as failure:
                is_over = time.monotonic() + pause > end
                shell.said(f"gnomon: {name}: {failure}; {'given up' if is_over else 'trying again'}", sys.stderr)
                if is_over:
                    return None
            time.sleep(pause)
            pause = min(2 * pause, PAUSE_MOST)

    def take(self, event: Dict[str, Any]) -> None:
        if event["seq"] <= self.seq:
            return
        made = self.message(event)
        if made is not None:
            subject = made["data"].get("study", made["data"].get("federation"))
            name = f"{subject:.40}_{event['seq']}"
            if not ID.fullmatch(name):  # it becomes a line of a request's head
                shell.answer(event)
            self.deliver(name, json.dumps(made, separators=(",", ":")).encode())
        self.seq = event["seq"]
        if made is not None:
            self.write_place()

    def page(self, waits: bool) -> Any:
        try:
            return self.ask(f"/v1/events?limit={PAGE_EVENTS}&wait={WAIT_SECONDS if waits else 0}" +
                            (f"&cursor={self.cursor}" if self.cursor else ""))
        except GnomonError as failure:
            if not self.cursor or failure.code != "events_gone":
                raise
        shell.said("gnomon: events were deleted before they could be sent, or the server has an older copy of its store; going on with "
                   "those that are there", sys.stderr)
        self.cursor = ""  # seq still says which of them are done with
        return self.page(waits)

    def follow(self, waits: bool, sends: bool) -> bool:
        """The events of one page; sends: or only to come behind them.  True: there were no more."""
        page = self.page(waits)
        events, cursor, is_last = page["events"], page["last_cursor"], page["next_cursor"] is None
        if not re.fullmatch("[0-9a-f]{1,256}", cursor):
            shell.answer(page)
        for event in events if sends else ():
            self.take(event)
        if cursor != self.cursor:
            seq = events[-1]["seq"] if events else 0
            if is_last and 0 < seq < self.seq:
                # Behind the log's last line, of which a page after the place would have been empty: a server that took an older copy
                # of its store for its own, or has deleted what was sent.  It gives the numbers after this one anew.
                shell.said(f"gnomon: the log ends with {seq}, and {self.seq} had been sent: going on with what happens from now on",
                           sys.stderr)
                self.seq = seq
            self.seq, self.cursor = max(seq, self.seq), cursor
            if sends or is_last:
                self.write_place()
        return is_last


def run(options: Dict[str, Any], operands: List[str], program: Optional[List[str]]) -> int:
    if operands or program is not None:
        shell.usage(f"gnomon notify takes no {' '.join(operands) or '--'}")
    notify = Notify(options)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup stays in force
            signal.signal(number, lambda *_: os._exit(shell.DONE))
    is_last = notify.read_place()
    while not is_last:
        is_last = notify.follow(False, False)
    while not notify.follow(not options["once"], True) or not options["once"]:
        pass
    return shell.DONE


COMMAND = shell.Command("notify", "", "post messages about studies that end and trials that fail to an address (webhooks)", TABLE, run)
