"""What the benches of the service share: servers from the fault tests' harness, wrk, what PostgreSQL does, and the CSV
line."""
import contextlib
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
from harness import Server, parameters_study  # noqa: F401 (for the benches)

OPEN = ["--connections-per-address", "0", "--access-log", "off"]  # the load comes from one address
SECONDS = int(os.environ.get("BENCH_SECONDS", 3))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", 3))


def wrk(port, token, path, connections, body=None):
    """Requests per second; every answer must be 2xx."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f'wrk.headers["Authorization"] = "Bearer {token}"\n')
        if body is not None:
            script.write(f"wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.body = [[{body}]]\n")
        script.flush()
        out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "-s", script.name,
                              f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        raise SystemExit(f"wrk {path} with {connections} connections:\n{out}")
    return float(re.search(r"Requests/sec:\s*([0-9.]+)", out).group(1))


def cpu_seconds(pid):
    """User and system time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def postgres_seconds(data):
    """Of all its processes, those that have ended too."""
    total = 0
    with open(data + "/postmaster.pid", encoding="ascii") as file:
        postmaster = int(file.readline())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(pid) == postmaster or int(fields[1]) == postmaster:
            total += sum(map(int, fields[11:13 + 2 * (int(pid) == postmaster)]))
    return total / os.sysconf("SC_CLK_TCK")


class Counter:
    """Between the server and PostgreSQL's socket: counts what it is sent.  Whatever waits for an answer ends in S or Q."""

    def __init__(self, folder, database):
        self.trips = self.statements = 0
        self.to = next(word[5:] for word in database.split("?")[1].split("&") if word.startswith("host="))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(folder + "/.s.PGSQL.5432")
        self.listener.listen()
        self.database = database.replace(self.to, folder)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, far = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            far.connect(self.to + "/.s.PGSQL.5432")
            for source, sink, see in ((near, far, self.count), (far, near, None)):
                threading.Thread(target=self.pass_on, args=(source, sink, see), daemon=True).start()

    @staticmethod
    def pass_on(source, sink, see):
        """The first message has a length and no kind, or is a question whether to encrypt."""
        rest, head = b"", 0
        with contextlib.suppress(OSError):  # at the end
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
                rest += piece if see else b""
                while len(rest) > head + 4 and len(rest) >= (end := head + int.from_bytes(rest[head:head + 4], "big")):
                    if head:
                        see(rest[:1])
                    else:
                        head = int(end > 8)
                    rest = rest[end:]
        sink.close()

    def count(self, kind):
        self.trips += kind in b"SQ"
        self.statements += kind in b"EQ"


def alternate(*measures):
    """The median of ROUNDS runs of each, taken in turns, so that both see the same machine."""
    results = [[measure() for measure in measures] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*results)]


def verdict(name, value, reference, at_least):
    """One line `name,value,reference,ratio,threshold,verdict`; whether the threshold is reached."""
    ratio = value / reference
    good = at_least is None or ratio >= at_least
    limit = "" if at_least is None else f">={at_least:g}"
    print(f"{name},{value:.0f},{reference:.0f},{ratio:.3f},{limit},{'ok' if good else 'TOO SLOW'}", flush=True)
    return good
