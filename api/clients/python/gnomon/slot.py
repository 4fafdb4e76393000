"""The name under which a process asks for a trial."""
from __future__ import annotations

import itertools
import os
import secrets
import socket
import threading
from typing import Dict, Optional


class Slot:
    """A worker's name that no other trial of this process has: the service gives a worker its own trial again."""

    _used: Dict[str, int] = {}
    _lock = threading.Lock()
    _process = (0, "")

    def __init__(self, worker: Optional[str] = None) -> None:
        self.name = worker or self._free()
        self.trials = 1

    @classmethod
    def name_process(cls, name: str) -> None:
        cls._lock = threading.Lock()  # that of the parent may have been held when this process was forked
        cls._process = os.getpid(), name
        cls._used = {}

    @classmethod
    def _free(cls) -> str:
        if cls._process[0] != os.getpid():
            cls.name_process(f"{socket.gethostname()[:64]}-{os.getpid()}-{secrets.token_hex(2)}")
        with cls._lock:
            name = next(name for name in (f"{cls._process[1]}-{n}" for n in itertools.count(1)) if name not in cls._used)
            cls._used[name] = 1
            return name

    def leave(self) -> None:
        with self._lock:
            self.trials -= 1
            if self.trials <= 0:
                self._used.pop(self.name, None)
