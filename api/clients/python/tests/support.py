"""What the tests share: one service for all that need no more, scripted servers, and a proxy that breaks connections."""
import atexit
import http.server
import json
import os
import re
import socket
import sys
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
import gnomon  # noqa: E402

_service = []


def service():
    """A client of the service that all tests of this process share."""
    if not _service:
        _service.append(gnomon.local())
        atexit.register(_service[0].close)
    return _service[0]


class Uncounted:
    """What other people's code does here is not slowed down by the counting of our lines."""

    def __enter__(self):
        self.counting = sys.gettrace()
        sys.settrace(None)

    def __exit__(self, *_):
        sys.settrace(self.counting)


class Case(unittest.TestCase):
    def study(self, space=None, **more):
        """A study of the test's own name."""
        more.setdefault("seed", 2385)
        more.setdefault("algorithm", "random")
        return service().study(self.id(), space or {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, **more)

    def wait_for(self, condition, seconds=60.0):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "timed out")
            time.sleep(0.01)

    def states(self, study):
        return [trial.state for trial in study.trials()]


class Scripted(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.heard.append((self.command, self.path, dict(self.headers), body))
        status, headers, reply = self.server.says.pop(0) if self.server.says else (200, {}, {})
        if status == 0:  # no answer
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(data), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = answer


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a client that is gone
        pass


def scripted(*says):
    """(url, heard): a server that answers (status, headers, body) one after the other; status 0 breaks the connection."""
    server = Quiet(("127.0.0.1", 0), Scripted)
    server.says, server.heard = list(says), []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", server.heard


class Proxy:
    """Forwards to a port; of the answers it breaks off those for which `breaks` says so, before or after they are sent on."""

    def __init__(self, port, breaks):
        self.port, self.breaks, self.broken = port, breaks, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with client, socket.create_connection(("127.0.0.1", self.port)) as server:
                while True:
                    asked = message(client)
                    what = next(self.breaks) if asked else "before"
                    if what != "before":
                        server.sendall(asked)
                        reply = message(server)
                        client.sendall({"after": b"", "within": reply[:20]}.get(what, reply))
                    if what is not None:
                        self.broken += bool(asked)
                        return
        except OSError:
            pass


def message(connection):
    """The bytes of one request or answer; none at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 16)
        if not more:
            return b""
        data += more
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", data)
    end = data.index(b"\r\n\r\n") + 4 + (int(length[1]) if length else 0)
    while len(data) < end:
        data += connection.recv(1 << 16)
    return data


def branin(x, y):
    import math
    return (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6)**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def picklable(trial):
    """A function that a process which was not forked can have."""
    return branin(trial["x"], trial["y"])
