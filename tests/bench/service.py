"""What the benches of the service share: servers from the fault tests' harness, wrk, and the CSV line."""
import os
import re
import statistics
import subprocess
import sys
import tempfile

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
