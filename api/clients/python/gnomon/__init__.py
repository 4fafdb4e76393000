"""gnomon: Bayesian optimisation as a service, from Python.

    import gnomon
    study = gnomon.connect().study("branin", {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, trials=40)
    study.optimize(lambda t: f(t["x"], t["y"]))
    print(study.best.value, study.best.params)"""
from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any, Dict, Optional

from .errors import (Conflict, Denied, Finished, GnomonError, LeaseLost, NotFound, Paused, Pruned, Refused, SpaceDiffers,
                     Unavailable)
from .options import checked
from .server import Local, local
from .study import Client, Record, Study, Trial
from .transport import named_server

if TYPE_CHECKING:
    from .aio import AsyncClient, AsyncStudy, AsyncTrial
    from .search import GnomonSearchCV

__version__ = "1.0.0"
__all__ = ["AsyncClient", "AsyncStudy", "AsyncTrial", "Client", "Conflict", "Denied", "Finished", "GnomonError",
           "GnomonSearchCV", "LeaseLost", "Local", "NotFound", "Paused", "Pruned", "Record", "Refused", "SpaceDiffers",
           "Study", "Trial", "Unavailable", "connect", "local"]


@checked
def connect(url: Optional[str] = None, token: Optional[str] = None, *, patience: float = 60.0,
            ca: Optional[str] = None) -> Client:
    """A client.  What is not given comes from GNOMON_SERVER and GNOMON_TOKEN, then from ~/.config/gnomon.json.  `patience`:
    for how many seconds a request is repeated while the service is away; `ca`: a file with its authority."""
    config: Dict[str, Any] = {}
    name = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "gnomon.json")
    if os.path.exists(name):
        with open(name, encoding="utf-8") as file:
            config = json.load(file)
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name == "posix" and config.get("token") and mode & 0o077:
            raise ValueError(f"{name} has a token and mode {mode:04o}: others may have read or changed it. Once that is ruled out: "
                             f"chmod 600 {name}")
    url = url or named_server() or config.get("url")
    token = token or os.environ.get("GNOMON_TOKEN") or config.get("token")
    if not url or not token:
        raise ValueError(f"which service? give url and token, or set GNOMON_SERVER and GNOMON_TOKEN, or write them into {name}")
    return Client(url, token, patience, ca or config.get("ca"))


def __getattr__(name: str) -> Any:
    """What few need is loaded when it is asked for: asyncio and scikit-learn take their time."""
    if name in ("AsyncClient", "AsyncStudy", "AsyncTrial"):
        from . import aio
        return getattr(aio, name)
    if name == "GnomonSearchCV":
        from .search import GnomonSearchCV
        return GnomonSearchCV
    raise AttributeError(f"module 'gnomon' has no {name!r}")
