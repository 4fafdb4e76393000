"""A service of one's own for a notebook or a test: the program in a folder, on a free port of this machine."""
from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from types import TracebackType
from typing import Optional, Type

from .options import checked
from .study import Client


class Local(Client):
    """A client and the service that it started; `with`, or close()."""

    def __init__(self, path: Optional[str] = None, binary: Optional[str] = None) -> None:
        program = binary or os.environ.get("GNOMON") or shutil.which("gnomon")
        if program is None:
            raise FileNotFoundError("no program called gnomon in PATH; build it with make, or give binary=...")
        self._owner, self._temporary = os.getpid(), path is None
        self.folder = path or tempfile.mkdtemp(prefix="gnomon-")
        # Its own session: Ctrl-C is for this program, which still has trials to give back.  However this program ends, the pipe does.
        self._process: "Optional[subprocess.Popen[str]]" = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--data", self.folder, "--until-eof"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL, start_new_session=True)
        atexit.register(self.close)
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
            if not line.startswith("listening on "):
                raise RuntimeError(f"{program} serve did not start (code {self._process.wait(30)}); is {self.folder} in use?")
            token = subprocess.run([program, "token", "--data", self.folder, "create", "--name", "local", "--scope", "admin"],
                                   capture_output=True, text=True, check=True).stdout.strip()
            super().__init__(line.split()[-1], token)
        except BaseException:
            self._stop()
            raise

    def __reduce__(self) -> "tuple[type[Client], tuple[str, str]]":
        return Client, (self.url, self.transport.token)

    def close(self) -> None:
        self.transport.close()
        self._stop()

    def _stop(self) -> None:
        atexit.unregister(self.close)
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():  # a forked worker leaves it running
            return
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Local":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], failure: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


@checked
def local(path: Optional[str] = None, *, binary: Optional[str] = None) -> Local:
    """Starts a service and connects to it; its folder goes away at the end, unless `path` says where to keep it."""
    return Local(path, binary)
