"""What the end-to-end tests share: a server process on a port that survives its restarts, a client, a proxy that breaks
connections, and the count of what was checked.  Python's standard library, and openssl for signatures."""
import base64
import csv
import http.client
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GNOMON = os.environ.get("GNOMON", os.path.join(ROOT, "build", "gnomon"))
DATA = os.path.join(ROOT, "tests", "data")
os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin:" + os.environ.get("PATH", "")  # Debian's programs, before others of their names


LIMIT_S = 300  # of a wait for a state: what has not come by then does not come


def gnomon(*arguments, **options):
    """Runs a subcommand; the finished process with its texts."""
    return subprocess.run([GNOMON, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S, **options)


class OutOfTime(AssertionError):
    pass


def wait_for(condition, what):
    """Asks until it is so: its first true value.  OutOfTime when LIMIT_S are over."""
    end = time.monotonic() + LIMIT_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise OutOfTime(f"out of time: {what}")
        time.sleep(0.01)
    return value


def text_of(failure):
    """Of whatever stopped a test; a limit that is over begins with the words by which a step is run once more, alone."""
    if isinstance(failure, (subprocess.TimeoutExpired, TimeoutError)):
        return f"out of time: {failure}"
    return str(failure) if isinstance(failure, OutOfTime) else f"{type(failure).__name__}: {failure}"


def address_of_ours():
    """An address of the loopback that no other process has, so that a port that is free there stays so."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}"


def listens(port, address="127.0.0.1"):
    try:
        socket.create_connection((address, port), timeout=LIMIT_S).close()
        return True
    except (ConnectionRefusedError, ConnectionResetError):  # reset: it stopped to listen meanwhile
        return False


TAKEN = socket.socket()  # by us, who do not listen
TAKEN.bind(("127.0.0.1", 0))
NOWHERE = "http://127.0.0.1:%d" % TAKEN.getsockname()[1]


class Server:
    scheme = "http"

    def __init__(self, folder, arguments=()):
        self.folder, self.arguments, self.process, self.said = folder, list(arguments), None, ""
        self.port = 0  # the system chooses it at the first start, and later ones have it again

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def spawn(self):
        """Whether it listens; not, when another process has its port for a moment."""
        self.process = subprocess.Popen(
            [GNOMON, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", self.folder, *self.arguments],
            stdout=subprocess.PIPE, stderr=open(self.folder + ".log", "ab"), text=True)
        self.said = self.process.stdout.readline()
        if self.said == "" and self.process.wait(LIMIT_S) == 1 and self.port:
            with open(self.folder + ".log", encoding="utf-8") as log:
                return "code=address_in_use" not in log.read()[-300:]
        return True

    def start(self):
        wait_for(self.spawn, f"port {self.port}, which another process has")
        self.port = self.port or int(self.said.rsplit(":", 1)[-1] or 0)
        if self.said != f"listening on {self.url}\n":
            raise AssertionError(f"the server said {self.said!r}, code {self.process.wait(LIMIT_S)}; see {self.folder}.log")
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=LIMIT_S)

    def token(self, scope, *more):
        made = gnomon("token", "--data", self.folder, "create", "--name", f"test {scope}", "--scope", scope, *more)
        if made.returncode != 0:
            raise AssertionError(f"token: {made.returncode} {made.stderr}")
        return made.stdout.strip()


class Api:
    def __init__(self, port, token):
        self.port, self.token = port, token

    def call(self, method, path, body=None, kind="application/json", headers=None):
        """(status, JSON or bytes).  body: bytes as they are, anything else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        send = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        if body is not None:
            send["Content-Type"] = kind
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, body, send)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        is_json = reply.getheader("Content-Type", "").split(";")[0].endswith(("/json", "+json"))
        return reply.status, json.loads(data) if is_json and data else data

    def expect(self, wanted, method, path, body=None, **more):
        status, reply = self.call(method, path, body, **more)
        if status != wanted:
            raise AssertionError(f"{method} {path}: {status} {reply}, not {wanted}")
        return reply

    def get(self, path):
        return self.expect(200, "GET", path)


class Proxy:
    """Forwards TCP to a port.  plan: for each connection in which more than plan[0][1] bytes arrive from the client,
    what happens then: "cut" closes both sides, "hang" forwards nothing more.  An empty plan forwards everything."""

    def __init__(self, port, plan):
        self.port, self.plan, self.forwarded, self.events = port, list(plan), 0, []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            client.close()
            return
        threading.Thread(target=self.back, args=(server, client), daemon=True).start()
        seen = 0
        try:
            while data := client.recv(65536):
                seen += len(data)
                with self.lock:
                    action = self.plan.pop(0)[0] if self.plan and seen > self.plan[0][1] else None
                    self.forwarded += len(data)
                    if action:
                        self.events.append(action)
                if action == "cut":
                    break
                if action == "hang":
                    while client.recv(65536):
                        pass
                    break
                server.sendall(data)
        except OSError:
            pass
        for end in (client, server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    @staticmethod
    def back(server, client):
        try:
            while data := server.recv(65536):
                client.sendall(data)
        except OSError:
            pass


class Verdict:
    """Counts checks; a failed one is printed and does not stop the test."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        print(("ok      " if good else "FAILED  ") + name + (f"  ({detail})" if detail != "" else ""), flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def main(test):
    """Runs test(folder, verdict) in a folder of its own; exits with the verdict."""
    folder = tempfile.mkdtemp(prefix="gnomon-e2e-")
    verdict, servers = Verdict(), []
    started = Server.start

    def start(server):
        servers.append(server)
        return started(server)

    Server.start = start
    try:
        test(folder, verdict)
    except Exception as failure:  # noqa: BLE001 (a test that stops is a failed one, with its reason)
        verdict.check(text_of(failure), False)
        for name in os.listdir(folder):
            if name.endswith(".log"):
                print(f"--- {name}", open(os.path.join(folder, name)).read()[-4000:], sep="\n")
    finally:
        for server in servers:
            if server.process and server.process.poll() is None:
                server.kill()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(verdict.end())


def read_csv(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def expected_best(values, k):
    """Mean of the largest of k values drawn without replacement."""
    values = sorted(values, reverse=True)
    n, weight, total = len(values), k / len(values), 0.0
    for i, value in enumerate(values):
        total += weight * value
        weight *= max(n - i - k, 0) / (n - i - 1) if i + 1 < n else 0
    return total


HOUSING = os.path.join(DATA, "housing", "housing_2000.csv")


def log_prices():
    return [math.log(float(row["median_house_value"])) for row in read_csv(HOUSING)]


PUBLIC = ("--protect", "longitude=0.32,latitude=0.32,median_income=0.64", "--region",
          "longitude=-125:-114,latitude=32:42.5,median_income=0:16")


def project_command(folder, *more, name="z", data=HOUSING, scale=PUBLIC):
    """A release of the housing rows with a key and a ledger of its own: the finished process."""
    key = os.path.join(folder, name + ".key")
    if not os.path.exists(key):
        gnomon("key", "--out", key)
    return gnomon("project", "--in", data, "--columns", "longitude,latitude,median_income", "--key", key, *scale,
                  "--out", os.path.join(folder, name + ".npy"), *more)


def project(folder, *more, name="z", scale=PUBLIC):
    """The path of the matrix.  Without more, epsilon is e^2 and its noise small."""
    made = project_command(folder, *(more or ("--epsilon", "7.389")), *(() if more else ("--budget-epsilon", "8")),
                           name=name, scale=scale)
    if made.returncode != 0:
        raise AssertionError(f"project: {made.returncode} {made.stderr}")
    return os.path.join(folder, name + ".npy")


def manifest_of(matrix):
    with open(matrix.replace(".npy", ".json")) as stream:
        return json.load(stream)


def canonical(value):
    """The text that is signed: compact, keys sorted, reals as %.17g with a point or an exponent."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if not isinstance(value, float):
        return json.dumps(value)
    digits, _, exponent = f"{value:.17g}".partition("e")
    return f"{digits}{'' if '.' in digits or exponent else '.0'}" + (f"e{int(exponent)}" if exponent else "")


def sign(manifest, key):
    """The manifest with the signature that its members have under this key file."""
    members = {name: value for name, value in manifest.items() if name != "signature"}
    with tempfile.NamedTemporaryFile() as text:
        text.write(canonical(members).encode())
        text.flush()
        made = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", text.name],
                              capture_output=True, check=True)
    return {**members, "signature": base64.urlsafe_b64encode(made.stdout).decode().rstrip("=")}


def private_study(manifest, trials=60, **more):
    return {"name": "private", "metrics": [{"name": "y", "goal": "maximize"}], "seed": 2385,
            "space": {"type": "candidates", "rows": manifest["rows"], "columns": manifest["columns"], "private": True,
                      "curator_key": manifest["key"]},
            "algorithm": {"name": "po-gp-ucb"}, "budget": {"trials": trials}, **more}


def audit(api, study, limit=100):
    """[suggestions, decisions, same], differences, skipped, the last line whose values counted."""
    counts, different, skipped, until, cursor = [0, 0, 0], [], [], None, ""
    while True:
        page = api.get(f"/v1/studies/{study}/verify?limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        counts = [a + page[name] for a, name in zip(counts, ("suggestions", "decisions", "same"))]
        assert page["is_same"] == (page["same"] == page["suggestions"] + page["decisions"]), page
        different += page["different"]
        skipped += page["skipped"]
        until, cursor = page["values_until"] or until, page["next_cursor"]
        if cursor is None:
            return counts, different, skipped, until


def audit_all(api, ids):
    """What is not as it was made in the studies among these; None when all is."""
    for study in ids:
        _, different, skipped, _ = audit(api, study) if study.startswith("std_") else (None, [], [], None)
        if different or skipped:
            return f"verify {study}: {different or skipped}"
