"""Heartbeats: one thread for each process renews the leases of all trials that are held there, until they end."""
from __future__ import annotations

import os
import threading
import time
from typing import Dict, Optional, Protocol

from .transport import log

AGAIN = 5.0  # seconds after a heartbeat that went wrong


class Held(Protocol):
    """What has a lease."""

    def beat(self) -> Optional[float]:
        """Renews it; the seconds to the next time, None when there is nothing more to renew."""


class Heart:
    """The thread begins with the first trial and ends with the last."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._wake = threading.Condition()
        self._due: Dict[Held, float] = {}
        self._thread: Optional[threading.Thread] = None

    def hold(self, held: Held, seconds: float) -> None:
        if self._process != os.getpid():  # forked: what the parent holds is the parent's
            self._reset()
        with self._wake:
            self._due[held] = time.monotonic() + seconds
            if self._thread is None or not self._thread.is_alive():  # Ctrl-C may have come before it was started
                self._thread = threading.Thread(target=self._run, name="gnomon heartbeats", daemon=True)
                self._thread.start()
            self._wake.notify()

    def release(self, held: Held) -> None:
        with self._wake:
            self._due.pop(held, None)
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._due:
                    self._thread = None
                    return
                held = min(self._due, key=lambda one: self._due[one])
                wait = self._due[held] - time.monotonic()
                if wait > 0:
                    self._wake.wait(wait)
                    continue
            try:
                seconds = held.beat()
            except Exception:  # whatever it is, the others' leases go on
                log.exception("a heartbeat")
                seconds = AGAIN
            with self._wake:
                if held in self._due:
                    if seconds is None:
                        del self._due[held]
                    else:
                        self._due[held] = time.monotonic() + seconds


HEART = Heart()
