"""What the fault tests share: a server that can be killed and started again, and a small HTTP client.

The client speaks just enough HTTP/1.1 for this server and is quick enough not to be the bottleneck.  Anything that
goes wrong below HTTP raises OSError, so that a test can tell a dead server from a refusal.
"""
import atexit
import json
import mmap
import os
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

GNOMON = os.environ.get("GNOMON", "build/gnomon")
os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin:" + os.environ.get("PATH", "")  # Debian's programs, before others of their names


class Server:
    """A server on a data folder; env and arguments are added to each start."""

    def __init__(self, folder, env=None, arguments=()):
        self.folder, self.env, self.arguments = folder, env or {}, list(arguments)
        self.process, self.port, self.token = None, None, None
        atexit.register(self.kill)  # no server outlives its test, however that ends

    def spawn(self):
        self.process = subprocess.Popen(
            [GNOMON, "serve", "--listen", "127.0.0.1:0", "--data", self.folder, *self.arguments],
            stdout=subprocess.PIPE, stderr=open(self.folder + ".log", "ab"), env={**os.environ, **self.env})

    def wait_ready(self):
        """Returns when the server listens; OSError when it ended before."""
        for line in self.process.stdout:
            if line.startswith(b"listening on http://"):
                self.port = int(line.rsplit(b":", 1)[1])
                break
        else:
            raise OSError(f"the server ended with {self.process.wait()}, see {self.folder}.log")
        if self.token is None:
            self.token = subprocess.run([GNOMON, "token", "--data", self.folder, "create", "--name", "fault", "--scope",
                                         "admin"], check=True, capture_output=True, text=True).stdout.strip()

    def start(self):
        self.spawn()
        self.wait_ready()
        return self

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=LIMIT_S)

    def client(self):
        return Client(self.port, self.token)


class Client:
    """One keep-alive connection; a new one when the server says that it closes the old, and where it may have done so: it
    closes one that asks nothing for 10 s, and who compares two servers can be that long with the other."""
    KEPT_S = 4

    def __init__(self, port, token, source=""):
        self.source = (source, 0)
        self.head, self.fields = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n", {}  # fields: of the last answer
        self.port = port
        self.connect()

    def connect(self, timeout=300):
        self.used, self.buffer = time.monotonic(), b""
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=timeout, source_address=self.source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.socket.close()

    def renew(self):
        self.close()
        self.connect(self.socket.gettimeout())

    def fill(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise ConnectionResetError(f"closed by the server {time.monotonic() - self.used:.1f} s after its last answer")
        self.buffer += piece

    def send(self, method, path, body=None, headers=""):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "" if body is None or "Content-Type" in headers else "Content-Type: application/json\r\n"
        length = "" if method == "GET" else f"Content-Length: {len(data)}\r\n"
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{self.head}{kind}{length}{headers}\r\n".encode() + data)

    def receive(self):
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            self.fill()
        head, self.buffer = self.buffer[:end].decode("latin-1"), self.buffer[end + 4:]
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
        self.fields, length = fields, int(fields.get("content-length", 0))
        while len(self.buffer) < length:
            self.fill()
        data, self.buffer, self.used = self.buffer[:length], self.buffer[length:], time.monotonic()
        if fields.get("connection") == "close":
            self.renew()
        is_json = "/json" in (kind := fields.get("content-type", "")) or "+json" in kind
        return int(head.split(" ", 2)[1]), json.loads(data) if is_json and data else data

    def call(self, method, path, body=None, headers=""):
        """(status, JSON or bytes)"""
        if time.monotonic() - self.used > self.KEPT_S:
            self.renew()
        self.send(method, path, body, headers)
        return self.receive()

    def get(self, path):
        return self.expect(200, "GET", path)

    def post(self, path, body, status=200):
        return self.expect(status, "POST", path, body)

    def expect(self, wanted, method, path, body=None):
        status, reply = self.call(method, path, body)
        if status != wanted:
            raise AssertionError(f"{method} {path}: {status} {reply}, not {wanted}")
        return reply


class Verdict:
    """Counts checks; the closing line and the exit code."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, good, text):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {'out of time: ' if isinstance(good, OutOfTime) else ''}{text}", flush=True)
        return good

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0 or self.passed == 0)


class Disk:
    """Calls on the store's files that fail or end the process, and a wall clock that can be set, for servers started with
    .env: see faildisk.c for the numbers."""

    STEPS = 64  # where the list of them begins
    SOME = STEPS + 8192

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(self.SOME + 32))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), self.SOME + 32)
        library = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "faildisk.so"))
        self.env = {"FAIL_FILE": path, "LD_PRELOAD": library}

    def fail(self, calls, files, error):
        self.map[:32] = struct.pack("<qqqq", calls, files, error, 0)

    def mend(self):
        self.map[:16] = bytes(16)

    @property
    def failed(self):
        return struct.unpack("<q", self.map[24:32])[0]

    def set_clock(self, ahead_s):
        self.map[32:40] = struct.pack("<q", ahead_s)

    def at_step(self, number, act, error=0):
        """Counts from here on the calls that change something; act on the number-th: 1 to end the process before it, 2
        halfway through it, 3 to let it fail with the error."""
        self.map[16:32] = struct.pack("<qq", error, 0)
        self.map[40:64] = struct.pack("<qqq", 0, number, act)

    def fail_nth(self, calls, files, error, nth):
        """Counts from here on the calls of these kinds on these files; the nth fails, or from -nth on all."""
        self.map[16:24] = struct.pack("<q", error)
        self.map[self.SOME:self.SOME + 32] = struct.pack("<qqqq", calls, files, nth, 0)

    @property
    def counted(self):
        return struct.unpack("<q", self.map[self.SOME + 24:self.SOME + 32])[0]

    @property
    def steps(self):
        """(call, file) of each step so far."""
        count = struct.unpack("<q", self.map[40:48])[0]
        codes = struct.unpack("<4096H", self.map[self.STEPS:self.SOME])
        return [(what % 32, what // 32) for what in codes[1:min(count + 1, 4096)]]


LIMIT_S = 300  # of a wait for a state: what has not come by then does not come


class OutOfTime(int):
    """0 and false: what was waited for has not come.  Verdict.check says so."""


def wait_for(condition):
    """Asks until it is so: its first true value, or OutOfTime."""
    end = time.monotonic() + LIMIT_S
    while not (value := condition()):
        if time.monotonic() > end:
            return OutOfTime()
        time.sleep(0.01)
    return value


def told(kind, failure, trace):
    """A test that stops has failed, too; a limit that is over begins with the words by which a step is run once more, alone."""
    sys.__excepthook__(kind, failure, trace)
    late = issubclass(kind, (subprocess.TimeoutExpired, TimeoutError))
    print(f"FAILED: {'out of time: ' if late else ''}{kind.__name__}: {failure}", flush=True)


sys.excepthook = told


def part():
    """(k, n) of PART=k/n: this run does the k-th of n parts, counted from 1, of what all of it is."""
    k, n = map(int, os.environ.get("PART", "1/1").split("/"))
    if not 1 <= k <= n:
        sys.exit(f"PART={k}/{n}: k/n, with k from 1 to n")
    return k, n


def of_part(items):
    """Every n-th of them, so that all parts together have each once."""
    k, n = part()
    return list(items)[k - 1::n]


def integrity(folder):
    """PRAGMA integrity_check on a copy of the store: nothing of the folder is touched."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("gnomon.db", "gnomon.db-wal"):
            if os.path.exists(f"{folder}/{name}"):
                shutil.copy(f"{folder}/{name}", copy)
        store = sqlite3.connect(f"{copy}/gnomon.db")
        answer = store.execute("PRAGMA integrity_check").fetchone()[0]
        orphans = store.execute("PRAGMA foreign_key_check").fetchall()
        store.close()
    return answer if not orphans else f"foreign keys: {orphans[:3]}"


def parameters_study(name, algorithm, seed):
    return {"name": name, "metrics": [{"name": "loss", "goal": "minimize"}], "algorithm": algorithm, "seed": seed,
            "space": {"type": "parameters", "parameters": [
                {"name": "rate", "type": "double", "min": 1e-5, "max": 0.31, "scale": "log"},
                {"name": "depth", "type": "int", "min": 2, "max": 23},
                {"name": "kind", "type": "categorical", "values": ["oak", "elm", "ash"]}]}}
