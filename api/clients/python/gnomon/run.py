"""`gnomon run`, which `make run` starts: a server, a first token, a first study, then the server until Ctrl-C.  The server is in a
process group of its own, so that Ctrl-C reaches this process alone, which returns only when the server is gone."""
from __future__ import annotations

import http.client
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType
from typing import Any, Dict, List, Optional

from . import shell
from .transport import Transport

TRIALS, POLL_SECONDS, BROWSER_SECONDS, LOCKED, READY = 40, 0.2, 12 * 3600, 75, "listening on "
TABLE = (
    shell.Option("listen", "HOST:PORT", "the server's address; port 0 takes any free port", "127.0.0.1:8080", variable="GNOMON_LISTEN"),
    shell.Option("data", "DIR", "the folder of the store", "./data", variable="GNOMON_DATA"),
)
STUDY = {
    "metrics": [{"name": "f", "goal": "minimize"}], "seed": 2385, "budget": {"trials": TRIALS},
    "space": {"type": "parameters", "parameters": [{"name": "x", "type": "double", "min": -5, "max": 10},
                                                   {"name": "y", "type": "double", "min": 0, "max": 15}]},
    "notes": "Branin's function in the place of a training; its least value is 0.397887."}


class Stopped(Exception):
    """Ctrl-C, or the like of it."""


def stop(number: int, frame: Optional[FrameType]) -> None:
    raise Stopped


def branin(x: float, y: float) -> float:
    bend = y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6
    return bend * bend + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def token_of(folder: str, **more: Any) -> str:
    """A token through the socket in the folder, which is its owner's alone."""
    connection = http.client.HTTPConnection("localhost", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(os.path.join(folder, "gnomon.sock"))
    connection.request("POST", "/v1/tokens", json.dumps({"scope": "admin", **more}), {"Content-Type": "application/json"})
    reply = json.loads(connection.getresponse().read())
    connection.close()
    return str(reply["token"])


def run_study(transport: Transport) -> None:
    """The first study, found by its name after an earlier start, which may have left this worker a trial."""
    study = shell.once(transport, "PUT", "/v1/studies/by-name/first%20run", STUDY)
    path, done = f"/v1/studies/{study['id']}", study["trials"]["completed"]
    known = study["best"]["value"] if study["best"] is not None else None
    best = math.inf if known is None else known
    while study["state"] == "active" and done < TRIALS:
        [trial] = shell.once(transport, "POST", path + "/suggest", {"worker": "gnomon run"})["trials"]
        value = branin(trial["point"]["x"], trial["point"]["y"])
        shell.once(transport, "POST", path + "/observe", {"trial": trial["number"], "value": value})
        best, done = min(best, value), done + 1
    print(f"a first study: {done} trials of Branin's function; the best value is {best:.4f}, the least there is 0.3979", flush=True)


def with_server(server: "subprocess.Popen[str]", folder: str) -> None:
    assert server.stdout is not None
    line = server.stdout.readline().rstrip("\n")
    address = line[len(READY):]
    if not line.startswith(READY):
        code = server.wait()
        raise shell.Failure(f"the server did not start (exit code {code})", LOCKED if code == LOCKED else shell.FAILED)
    token = token_of(folder, name="first run")
    # The browser's own token ends by itself, and its page exchanges the secret at once: the address signs in once.
    once = token_of(folder, name="first run, in a browser", expires_in_seconds=BROWSER_SECONDS)
    print(f"gnomon serves at {address}, data in {folder}\nadmin token: {token}\n", flush=True)
    run_study(Transport(address, token, 0))
    print(f"\nserving at {address} until Ctrl-C; docs/start has lessons.  To list its studies, in another terminal:\n"
          f"    export TOKEN={token}\n"
          f"    curl -sS -H \"Authorization: Bearer $TOKEN\" {address}/v1/studies\n"
          f"To look at them with a browser (this address signs in once):\n    {address}/#/sign-in?once={once}", flush=True)
    while server.poll() is None:
        time.sleep(POLL_SECONDS)
    raise shell.Failure(f"the server ended with code {server.returncode}", shell.INTERNAL)


def run(options: Dict[str, Any], operands: List[str], program: Optional[List[str]]) -> int:
    if operands or program is not None:
        shell.usage(f"gnomon run takes no {' '.join(operands) or '--'}")
    signals = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    # A line for each request of the first study would push the address and the token off the screen.
    server = subprocess.Popen([shell.PROGRAM, "serve", "--listen", options["listen"], "--data", options["data"], "--access-log", "off",
                               "--until-eof"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        for number in signals:
            signal.signal(number, stop)
        with_server(server, options["data"])
    except Stopped:
        pass
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        if server.poll() is None:
            server.terminate()
            server.wait()
    if server.returncode != 0:
        raise shell.Failure(f"the server ended with code {server.returncode}", shell.INTERNAL)
    return shell.DONE


COMMAND = shell.Command("run", "", "start a server with a first token and a first study, until Ctrl-C", TABLE, run)
