"""Recorded studies: every algorithm proposes today, bit for bit, what it proposed when replay.json was written.

usage: GNOMON=build/gnomon python3 replay.py [--record] [NAME...]

replay.json has for each study what was asked of the service, step by step (create it, suggest, observe a value, ...), and
what came back: the points, with the model's mean and standard deviation there.  A replay asks the same and compares, to
the last bit.  Exit code 1 when anything differs.

A proposal is a function of specification, seed and log.  Record again only in a commit whose purpose is another proposal,
with only the studies that it means to change (--record NAME...), and let its message say which and why.

Sums and logarithms depend on the machine: OpenBLAS and the C library choose code by processor.  Both are told to choose
what every x86-64 machine has that is in use (not OpenBLAS's Prescott: its blocks follow the size of the cache); on
another architecture the replay is skipped.  Other releases of libraries may round otherwise: a failure names them.
"""
import ctypes
import hashlib
import http.server
import json
import math
import os
import platform
import random
import shutil
import struct
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # in a folder that is not this one's
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "e2e"))
import harness  # noqa: E402

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replay.json")
PLAIN = {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1",
         "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"}


# ---- the requests: the only place that knows the service's addresses and names ----

class Service:
    """Each method is a step: arguments and result are JSON that goes into the file.  Names that begin with $ stand for
    what the service calls a study, a federation or a game; nothing that is compared depends on that."""

    def __init__(self, server, api, folder):
        self.server, self.api, self.folder = server, api, tempfile.mkdtemp(dir=folder)
        self.ids, self.more = {}, {}

    def real(self, value):
        if isinstance(value, dict):
            return {name: self.real(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.real(member) for member in value]
        return self.ids.get(value, value) if isinstance(value, str) and value.startswith("$") else value

    def post(self, path, body, status=200):
        return self.api.expect(status, "POST", f"/v1/{path}", self.real(body))

    def study(self, name, body):
        if body["space"].get("curator_key") == "$curator":
            self.ids["$curator"] = harness.gnomon("key", "--out", os.path.join(self.folder, "curator")).stdout.strip()
        self.ids[name] = self.post("studies", {"name": "recorded", **body}, 201)["id"]

    def rows(self, name, rows, release=None):
        """The matrix of a study of candidates; release: members of the manifest of a private one."""
        kind = {"<i4": "i", "<f8": "d"}[release["dtype"] if release else "<f8"]
        head = "{'descr': '<%s', 'fortran_order': False, 'shape': (%d, %d), }" % ("i4" if kind == "i" else "f8", len(rows),
                                                                               len(rows[0]))
        head += " " * (-(10 + len(head) + 1) % 64) + "\n"
        data = struct.pack("<%d%s" % (len(rows) * len(rows[0]), kind), *[number for row in rows for number in row])
        file = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
        address = f"studies/{self.ids[name]}/candidates"
        if release:
            manifest = {**release, "rows": len(rows), "columns": len(rows[0]), "bytes": len(file), "tool": "gnomon 0.2.0",
                        "sha256": hashlib.sha256(file).hexdigest(), "dataset_tag": hashlib.sha256(b"rows").hexdigest(),
                        "created_at": "2026-03-01T09:30:00.125Z", "key": self.ids["$curator"]}
            self.post(address, harness.sign(manifest, os.path.join(self.folder, "curator")), 201)
        self.api.expect(200, "PUT", f"/v1/{address}", file, kind="application/x-npy")

    def suggest(self, name, body):
        """[trial, where, mean, stddev] of each; without the last two when no model was asked."""
        return [[trial["number"], *proposal(trial)] for trial in self.post(f"studies/{self.ids[name]}/suggest", body)["trials"]]

    def observe(self, name, *observations):
        self.post(f"studies/{self.ids[name]}/observe", {"observations": list(observations)})

    def lattice(self, name, rows, seed):
        """Many values of two parameters, by sums and products alone, which every machine rounds alike."""
        self.observe(name, *[{"point": {"x0": a, "x1": b}, "value": (a - 0.3) * (a - 0.3) + b * b * (b - 0.75) * (a + 0.5)}
                             for a, b in draw(seed, rows, 2)])

    def queue(self, name, points):
        self.post(f"studies/{self.ids[name]}/trials", {"points": points}, 201)

    def abandon(self, name, trial):
        self.post(f"studies/{self.ids[name]}/trials/{trial}/abandon", {})

    def bring(self, name, trials):
        self.post(f"studies/{self.ids[name]}/import", {"trials": trials})

    def report(self, name, trial, step, value):
        reply = self.post(f"studies/{self.ids[name]}/trials/{trial}/report", {"step": step, "value": value})
        return [reply["decision"], reply["reason"], reply["next_check_step"]]

    def predict(self, name, points):
        return [[item["mean"], item["stddev"]] for item in
                self.post(f"studies/{self.ids[name]}/predict", {"points": points})["predictions"]]

    def importances(self, name):
        return [[item["first_order"], item["total"]] for item in
                self.api.get(f"/v1/studies/{self.ids[name]}/importances")["parameters"]]

    def residuals(self, name):
        return [[r["mean"], r["stddev_observed"]] for r in self.api.get(f"/v1/studies/{self.ids[name]}/residuals")["residuals"]]

    def stateless(self, body):
        return [proposal(item) for item in self.post("suggest", body)["suggestions"]]

    def game(self, name, body):
        self.ids[name] = self.post("games", {"name": "recorded", **body}, 201)["id"]

    def play(self, name, agent):
        return self.post(f"games/{self.ids[name]}/agents/{agent}/suggest", {})["action"]

    def payoffs(self, name, body):
        self.post(f"games/{self.ids[name]}/observe", body)

    def federation(self, name, body, agents):
        """With the first seats for agents outside."""
        made = self.post("federations", {"name": "recorded", **body}, 201)
        self.ids[name] = made["id"]
        tokens = [self.post(f"federations/{made['id']}/agents", {"name": f"agent {i + 1}"}, 201)["token"] for i in range(agents)]
        self.more[name] = made["features_sha256"], tokens

    def message(self, name, round_, agent, vector):
        digest, tokens = self.more[name]
        harness.Api(self.server.port, tokens[agent - 1]).expect(
            200, "PUT", f"/v1/federations/{self.ids[name]}/rounds/{round_}/messages/{agent}?features={digest}", vector)

    def agent(self, name, trials, seed, values, others, given, is_new=False):
        """The first seat is a process of the agent's own, which measures values one by one.  Its rounds are closed by the
        others' messages; what the service then sends out is noise, so the agent is given what is in the file (is_new: what
        came is appended to them, for the record).  [points, messages]"""
        sent, federation = [], self.ids[name]

        def pass_on(method, path, head, body):
            status, reply = harness.Api(self.server.port, head["Authorization"][7:]).call(
                method, path, body, kind=head.get("Content-Type", "application/json"))
            if method == "PUT" and status == 200:
                sent.append(json.loads(body))
                for other in range(2, 2 + others):
                    vector = [round(0.25 * x - 0.5 * math.sin(other + i), 6) for i, x in enumerate(sent[-1])]
                    self.message(name, len(sent), other, vector)
            if path.endswith("/broadcast") and status == 200:
                at = int(path.split("/")[-2]) - 1
                if is_new and at == len(given):
                    given.append(reply["vectors"])
                reply["vectors"] = given[at]
            return status, reply

        journal, measured = os.path.join(self.folder, name[1:] + ".journal"), os.path.join(self.folder, name[1:] + ".values")
        with open(measured, "w") as stream:
            stream.write("".join(f"{value!r}\n" for value in values))
        with Between(pass_on) as between:
            done = harness.gnomon("agent", "--server", between.url, "--federation", federation, "--trials", trials, "--seed", seed,
                                  "--journal", journal, "--measure", f"head -n 1 {measured}; sed -i 1d {measured}",
                                  env={**os.environ, "GNOMON_TOKEN": self.more[name][1][0]})
        if done.returncode != 0:
            raise AssertionError(f"agent: {done.returncode} {done.stderr[-500:]}")
        lines = [json.loads(line) for line in open(journal)]
        return [[line["point"] for line in lines if "point" in line], sent]


def chance(seed):
    """Numbers within 0 and 1 with few digits."""
    while True:
        seed = (seed * 1103515245 + 12345) % 2 ** 31
        yield (seed >> 11) % 4096 / 4096


def draw(seed, rows, columns):
    number = chance(seed)
    return [[next(number) for _ in range(columns)] for _ in range(rows)]


def proposal(item):
    place = item.get("point") or item.get("sites") or item.get("candidate")
    return [place] + [item["model"][name] for name in ("mean", "stddev") if item["model"] and item["model"][name] is not None]


class Between:
    """An HTTP server whose every reply comes from pass_on(method, path, headers, body)."""

    def __init__(self, pass_on):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
                status, reply = pass_on(self.command, self.path, self.headers, body)
                text = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_POST = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


# ---- the studies, for --record: a replay needs none of this ----

class Recorder:
    def __init__(self, service):
        self.service, self.steps = service, []

    def __getattr__(self, verb):
        def step(*arguments):
            arguments = json.loads(json.dumps(arguments))  # a copy
            result = getattr(self.service, verb)(*arguments)
            self.steps.append([verb, arguments] + [result] * (result is not None))
            return result
        return step


UP, DOWN = [{"name": "y", "goal": "maximize"}], [{"name": "y", "goal": "minimize"}]


def double(name, low=0.0, high=1.0, **more):
    return {"name": name, "type": "double", "min": low, "max": high, **more}


def space(*parameters, **more):
    return {"type": "parameters", "parameters": list(parameters), **more}


def cube(dims):
    return space(*[double(f"x{i}", -0.5, 1.25) for i in range(dims)])


MIXED = space(double("rate", 1e-5, 0.1, scale="log"), {"name": "layers", "type": "int", "min": 1, "max": 6},
              {"name": "kind", "type": "categorical", "values": ["adam", "sgd", "lion"]},
              {"name": "width", "type": "discrete", "values": [8, 16, 64, 256], "scale": "log"},
              double("momentum", 0.5, 0.999, scale="reverse_log"))
TREE = space({"name": "model", "type": "categorical", "values": ["svm", "trees", "net"]},
             double("c", 0.01, 100.0, scale="log", when={"model": ["svm"]}),
             {"name": "depth", "type": "int", "min": 1, "max": 9, "when": {"model": ["trees", "net"]}},
             double("drop", 0.0, 0.5, when={"model": ["net"], "depth": [2, 3, 4, 5]}), double("share", 0.0, 1.0))


def study(metrics, where, seed, algorithm="gp", **more):
    options = {name: more.pop(name) for name in list(more) if name not in (
        "stopping", "budget", "stop_when", "lease_seconds", "shareable")}
    return {"metrics": metrics, "space": where, "seed": seed, "algorithm": {"name": algorithm, **options}, **more}


def numbers(point):
    """Any point as numbers of about one."""
    if not isinstance(point, dict):
        return [point] if isinstance(point, int) else point
    return [len(v) / 4 if isinstance(v, str) else math.log(v) / 8 if v > 2 else v for _, v in sorted(point.items())]


def bowl(point):
    x = numbers(point)
    return sum((v - 0.3 - 0.1 * i) ** 2 for i, v in enumerate(x)) + 0.3 * math.sin(7 * sum(x))


def waves(point):
    x = numbers(point)
    return sum(math.sin(3 * v + i) for i, v in enumerate(x)) / (1 + len(x)) + 0.5 * x[0] * x[-1]


def cliff(point):
    return math.exp(6 * bowl(point))


def told(f, trial, point):
    return {"trial": trial, "value": round(f(point), 4)}


def run(r, trials, f, name="$s", **ask):
    for _ in range(trials):
        r.observe(name, *[told(f, number, point) for number, point, *_ in r.suggest(name, ask)])


def plain(body, trials, f=bowl, **ask):
    def record(r):
        r.study("$s", body)
        run(r, trials, f, **ask)
    return record


def imported(rows, trials, algorithm="gp"):
    def record(r):
        r.study("$s", study(DOWN, cube(2), 2385, algorithm))
        r.lattice("$s", rows, 11)
        run(r, trials, bowl)
    return record


def parallel(body, rounds, f, workers=3):
    """Several at a time, told late and in another order; the first of each batch fails sometimes."""
    def record(r):
        r.study("$s", body)
        running = []
        for i in range(rounds):
            running += [trial for _ in range(workers) for trial in r.suggest("$s", {"count": 1 + (i % 5 == 4)})]
            running.sort(key=lambda trial: (trial[0] * 7) % 5)
            for number, point, *_ in [running.pop() for _ in range(workers)]:
                r.observe("$s", told(f, number, point))
    return record


def troubled(body, trials, f):
    def record(r):
        r.study("$s", body)
        for i in range(trials):
            number, point, *_ = r.suggest("$s", {})[0]
            if i % 7 == 3:
                r.abandon("$s", number)
            elif i % 7 == 5:
                r.observe("$s", {"trial": number, "state": "failed"})
            elif sum(numbers(point)) > 1.1:
                r.observe("$s", {"trial": number, "state": "infeasible"})
            else:
                r.observe("$s", told(f, number, point))
    return record


def several(metrics, trials, **more):
    def record(r):
        r.study("$s", study(metrics, cube(2), 41, **more))
        for _ in range(trials):
            for number, point, *_ in r.suggest("$s", {}):
                a, b, c = bowl(point), waves(point), point["x0"] - point["x1"] ** 2
                r.observe("$s", {"trial": number, "values": {m["name"]: round(v, 4) for m, v in zip(metrics, (a, b, c, a * b))}})
    return record


def noisy(r):
    r.study("$s", study(UP, cube(2), 5))
    r.bring("$s", [{"state": "completed", "number": i + 1, "point": {"x0": a, "x1": b}, "value": round(waves({"x0": a, "x1": b}), 4),
                    "stddev": 0.25 if i % 3 else 0.0625} for i, (a, b) in enumerate(draw(3, 12, 2))])
    r.queue("$s", [{"x0": 0.125, "x1": 1.0}])
    for _ in range(14):
        number, point, *_ = r.suggest("$s", {})[0]
        r.observe("$s", {**told(waves, number, point), "stddev": 0.125})


def fixed(r):
    r.study("$s", study(DOWN, MIXED, 77))
    for i in range(20):
        held = ({}, {"kind": "sgd"}, {"layers": 3, "rate": 0.001}, {"width": 64, "kind": "lion"})[i % 4]
        number, point, *_ = r.suggest("$s", {"fixed": held})[0]
        r.observe("$s", told(bowl, number, point))


def insight(r):
    r.study("$s", study(DOWN, MIXED, 6))
    run(r, 12, bowl)
    r.predict("$s", [{"rate": 0.01, "layers": 2, "kind": "sgd", "width": 64, "momentum": 0.75}])
    r.residuals("$s")
    r.importances("$s")


def stateless(r):
    seen = [{"point": {"x0": a, "x1": b}, "value": round(bowl({"x0": a, "x1": b}), 4)} for a, b in draw(8, 15, 2)]
    for count, waiting in ((1, []), (3, [{"x0": 0.25, "x1": 0.5}, {"x0": 0.75, "x1": 0.125}])):
        r.stateless({"metrics": DOWN, "space": cube(2), "algorithm": {"name": "gp"}, "seed": 17, "observations": seen,
                     "pending": waiting, "count": count})
    rows = draw(9, 40, 3)
    r.stateless({"metrics": DOWN, "space": {"type": "candidates", "matrix": rows}, "algorithm": {"name": "po-gp-ucb"}, "seed": 18,
                 "observations": [{"candidate": i, "value": round(bowl(rows[i]), 4)} for i in range(0, 24, 3)], "pending": [1, 2], "count": 3})


def matrix(trials, rows=60, columns=3, f=bowl, release=None, batch=1, **algorithm):
    def record(r):
        where = {"type": "candidates", "rows": rows, "columns": columns, "private": release is not None}
        if release:
            where["curator_key"] = "$curator"
        data = draw(21, rows, columns)
        if release and release["dtype"] == "<f8":
            data = normals(rows, columns)
        r.study("$s", study(DOWN, where, 33, **algorithm))
        sent = [[int(4096 * v) for v in row] for row in data] if release and release["dtype"] == "<i4" else data
        r.rows("$s", sent, *[release] * bool(release))
        run(r, trials, lambda row: f(data[row]), count=batch)
    return record


def normals(rows, columns):
    """As a projection has to look: centred, no short decimals."""
    source = random.Random(8)
    data = [[source.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
    means = [sum(column) / rows for column in zip(*data)]
    return [[v - mean for v, mean in zip(row, means)] for row in data]


def projection(columns):
    """A bare projection's manifest: its threshold follows from epsilon and delta."""
    epsilon, delta, sigma = 2.718, 1e-4, 640.5
    omega = 16 * math.sqrt(columns * math.log(2 / delta)) * math.log(16 * columns / delta) / epsilon
    return {"mechanism": "projection-only", "differentially_private": False, "dtype": "<f8", "outcomes": None, "total": None,
            "ledger": place(None), "parameters": {"threshold_epsilon": epsilon, "threshold_delta": delta, "omega": omega, "sigma_min": sigma,
                           "lifted": sigma < omega, "data_columns": columns, "dims_advised": columns}}


def laplace(columns, epsilon=20.0, distance=8.0, radius=3.5):
    """A release with discrete Laplace noise on the lattice.  Each column lies within as far as a row may move in it."""
    gamma, move = 2.0 ** (math.floor(math.log2(distance)) - 10), distance * radius / 25
    slack = 2 * math.sqrt(columns) * 25 * (columns + 16) * 2 ** -52
    sensitivity = (math.sqrt(columns) * distance + slack) / gamma + columns
    rate = math.floor(epsilon / sensitivity * 2 ** 32 * (1 - 2 ** -50))
    half = math.sinh(rate * 2 ** -33)
    spent = {"epsilon": epsilon, "delta": 0.0,
             "epsilon_any_change": rate / 2 ** 32 * ((columns * 2 * distance + slack) / gamma + columns)}
    return {"mechanism": "discrete-laplace", "differentially_private": True, "dtype": "<i4", "outcomes": None, "total": None,
            "ledger": place(spent), "parameters": {
                **spent, "distance": distance, "distance_l1": math.sqrt(columns) * distance, "radius": radius,
                "data_columns": columns, "centre": [0.0] * columns, "length_scales": [1.0] * columns, "low": [-move] * columns,
                "high": [move] * columns, "protect": [move] * columns, "gamma": gamma, "sensitivity": sensitivity,
                "rate": rate, "variance": gamma ** 2 / (2 * half * half), "dims": columns}}


def place(spent):
    """In a ledger of one line."""
    line = hashlib.sha256(b"line").digest()
    head = hashlib.sha256(b"gnomon/ledger/v2" + bytes(8) + bytes(32) + line).hexdigest()
    return {"id": "0123456789abcdef", "seq": 1, "head": head, "lines": [line.hex()], "tables": 1, "spent": spent,
            "budget": spent and {"epsilon": 40.0, "delta": 1e-6}}


def earlier(seed, shift, rows=18):
    return [{"point": {"x0": a, "x1": b}, "value": round(bowl({"x0": a + shift, "x1": b}), 4)} for a, b in draw(seed, rows, 2)]


def learner(trials, **algorithm):
    """From a study of the store and two that come along."""
    def record(r):
        r.study("$first", study(DOWN, cube(2), 1, "random"))
        r.observe("$first", *earlier(4, 0.0))
        r.study("$s", study(DOWN, cube(2), 71, **algorithm, earlier_studies=["$first"], earlier_observations=[
            {"name": "near", "observations": earlier(5, 0.1)}, {"name": "far", "observations": earlier(6, 0.9, 30)}]))
        run(r, trials, bowl)
    return record


def learner_of_rows(trials, **algorithm):
    def record(r):
        where, data = {"type": "candidates", "rows": 50, "columns": 2, "private": False}, draw(22, 50, 2)
        r.study("$first", study(DOWN, where, 1, "random"))
        r.rows("$first", data)
        r.observe("$first", *[{"candidate": i, "value": round(bowl(data[i]), 4)} for i in range(0, 50, 4)])
        r.study("$s", study(DOWN, where, 72, **algorithm, earlier_studies=["$first"]))
        r.rows("$s", data)
        run(r, trials, lambda row: bowl(data[row]) + 0.1 * data[row][0])
    return record


def curve(f, point, step, epochs):
    """Falls towards the point's value, from above."""
    return 1 - 0.2 * (1 - f(point)) * (1 - 2.0 ** (-6.0 * step / epochs))


def reports(body, trials, epochs, f=lambda point: max(0.0, min(1.0, 0.5 * bowl(point)))):
    def record(r):
        r.study("$s", body)
        for _ in range(trials):
            number, point, *_ = r.suggest("$s", {})[0]
            for step in range(1, epochs + 1):
                if r.report("$s", number, step, round(curve(f, point, step, epochs), 4))[0] == "stop":
                    break
            else:
                r.observe("$s", {"trial": number, "value": round(curve(f, point, epochs, epochs), 4)})
    return record


def pictures(trials, stop=True, algorithm="bos2", **options):
    where = {"type": "image", "height": 4, "width": 3, "channels": 2, "bound": 0.25, "latent_sizes": [1, 2, [3, 2], 3]}
    weights = draw(13, 1, 24)[0]

    def score(point):
        return sum((w - 0.5) * x - 0.25 * x * x for w, x in zip(weights, point)) - (0.9 if stop else 0.0)
    body = study(UP, where, 2, algorithm, **options)
    body["algorithm"].update({"stopping": stop} if algorithm == "bos2" else {})
    return plain(body, trials, score)


SITES = {"type": "graph", "sites": [[0, 0], [2.5, 0], [5, 0], [0, 3], [2.5, 3], [5, 3.5], [7, 2], [7.5, 5]], "start": 0,
         "edges": [[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5], [5, 6], [6, 7], [2, 6], [5, 7]],
         "macro_action_length": 2}
GRID = {"type": "graph", "grid": {"width": 12, "height": 10, "spacing": 0.25, "moves": "four"}, "macro_action_length": 3,
        "macro_actions_per_site": 6, "start": 54,
        "observations": [{"site": 7 * i % 120, "value": round(math.sin(i) + 0.1 * i, 3)} for i in range(1, 16)]}
LISTED = {"type": "graph", "sites": [[1.5], [2.5], [4], [4.5], [6]], "site_ids": [30, -4, 7, 8, 9], "start": 30,
          "macro_actions": [{"from": 30, "sites": [-4, 7]}, {"from": 30, "sites": [9]}, {"from": -4, "sites": [30]},
                            {"from": 7, "sites": [8, 9]}, {"from": 7, "sites": [-4, 30]}, {"from": 8, "sites": [7]},
                            {"from": 9, "sites": [8, 7]}, {"from": 9, "sites": [30]}]}
OCEAN = {"type": "graph", "grid": {"width": 20, "height": 20, "spacing": 0.1, "moves": "straight"}, "macro_action_length": 4,
         "start": 210}


def walk(where, trials, algorithm, **options):
    def record(r):
        r.study("$s", {**study(UP, where, 9, algorithm, **options), "budget": {"trials": trials}})
        for i in range(trials):
            for number, sites, *_ in r.suggest("$s", {}):
                values = [round(math.sin(site / 5) + 0.01 * site, 6) for site in sites]
                r.observe("$s", {"trial": number, "values": values[:1 + (i % 4 != 3) * len(values)]})
    return record


def match(rounds, agents, **more):
    names = [agent["name"] for agent in agents]

    def record(r):
        r.game("$g", {"agents": agents, "seed": 19, **more})
        for number in range(1, rounds + 1):
            actions = {name: r.play("$g", name) for name in names}
            sums = [sum(numbers(actions[name])) for name in names]
            pay = {name: round(math.sin(2.3 * sums[i] + sums[i - 1]) + 0.2 * sums[i], 6) for i, name in enumerate(names)}
            if more.get("payoffs") == "constant":
                del pay[names[-1]]
            if more.get("payoffs") == "common":
                pay = {names[0]: pay[names[0]]}
            r.payoffs("$g", {"round": number, "actions": actions, "payoffs": pay})
    return record


def line(rows, columns=1):
    return {"type": "candidates", "rows": [[0.25 * i + 0.1 * j * i * i for j in range(columns)] for i in range(rows)]}


PLANE = space(double("x", -1.5, 2.25), {"name": "kind", "type": "categorical", "values": ["a", "bb"]})
FEDERATION = {"metrics": UP, "space": space(double("c", 0.001, 10.0, scale="log"), double("gamma", -2.0, 3.5))}


def hosted(schedule, trials):
    def record(r):
        r.federation("$f", {**FEDERATION, "seats": 2, "rounds": 30, "round_seconds": 600000, "algorithm": {
            "name": "fts", "features": 12, "features_seed": 71, "initial": 3, "length_scale": 0.3, "schedule": schedule}}, 1)
        r.study("$s", study(UP, FEDERATION["space"], 23, "fts", federation="$f"))
        for i in range(trials):
            number, point, *_ = r.suggest("$s", {})[0]
            r.observe("$s", told(waves, number, point))
            if i >= 3:
                r.message("$f", i - 2, 1, [round(2 * v - 1, 4) for v in draw(100 + i, 1, 12)[0]])
    return record


def outside(algorithm, trials, **members):
    def record(r):
        r.federation("$f", {**FEDERATION, "seats": 3, "rounds": trials - 4, "round_seconds": 600000, "minimum_agents": 3, "algorithm": {
            "name": algorithm, "features": 12, "features_seed": 9, "initial": 4, "length_scale": 0.35,
            **({"regions": 2} if "privacy" in members else {})}, **members}, 3)
        values = [round(math.sin(1.7 * i) + 0.03 * i, 4) for i in range(trials)]
        arguments = ["$f", trials, 31, values, 2, []]
        result = r.service.agent(*arguments, is_new=True)
        r.steps.append(["agent", arguments, result])
    return record


def bounded(goal_bounds):
    return [{"name": name, "goal": goal, **bounds} for name, goal, bounds in goal_bounds]


BUDGET = {"epsilon": 8.5, "delta": 0.01, "sampling_rate": 0.5, "clip": 11.25}
SMALL = space({"name": "a", "type": "int", "min": 0, "max": 3}, {"name": "b", "type": "categorical", "values": ["p", "qq", "rrr"]})
LINES = space(double("a", 0.0, 2.0), double("b", 0.0, 1.0), {"name": "n", "type": "int", "min": 0, "max": 10},
              constraints=[{"coefficients": {"a": 1.0, "b": 1.0, "n": 0.1}, "max": 1.5},
                           {"coefficients": {"a": 1.0, "b": -0.5}, "min": -0.25}])
WHOLE = space({"name": "m", "type": "int", "min": 0, "max": 40}, {"name": "n", "type": "int", "min": 0, "max": 40},
              {"name": "k", "type": "discrete", "values": [0.5, 1.5, 4.0]},
              constraints=[{"coefficients": {"m": 2.0, "n": 3.0, "k": 1.0}, "min": 41.25, "max": 44.75},
                           {"coefficients": {"m": 1.0, "n": -1.0}, "max": 2.5}])
BELIEVED = space(double("x", 0.0, 5.0, prior={"normal": {"mean": 3.5, "stddev": 0.75}}),
                 double("y", 0.0, 1.0, prior={"beta": {"a": 2.0, "b": 5.0}}), double("z", 0.0, 1.0))

STUDIES = {
    "gp, two parameters, every stage": plain(study(DOWN, cube(2), 1), 64),
    "gp, one parameter": plain(study(UP, cube(1), 2), 20, waves),
    "gp, six parameters": plain(study(DOWN, cube(6), 3), 44),
    "gp, matern32": plain(study(DOWN, cube(3), 4, kernel="matern32"), 18),
    "gp, matern12": plain(study(DOWN, cube(3), 5, kernel="matern12"), 18),
    "gp, squared exponential": plain(study(DOWN, cube(3), 6, kernel="se"), 18),
    "gp, ucb": plain(study(UP, cube(2), 7, acquisition="ucb"), 24, waves),
    "gp, ucb with beta and initial": plain(study(UP, cube(2), 8, acquisition="ucb", beta=4.0, initial=3), 12, waves),
    "gp, thompson": plain(study(DOWN, cube(3), 9, acquisition="thompson"), 20),
    "gp, skewed values": plain(study(DOWN, cube(2), 10), 30, cliff),
    "gp, values all equal": plain(study(DOWN, cube(2), 10), 16, lambda point: 2.5),
    "gp, mixed parameters": plain(study(DOWN, MIXED, 11), 36),
    "gp, conditional parameters": plain(study(DOWN, TREE, 12), 36),
    "gp, linear constraints": plain(study(UP, LINES, 13), 24, waves),
    "gp, a constraint on integers": plain(study(UP, WHOLE, 13), 16, waves),
    "gp, priors": plain(study(DOWN, BELIEVED, 14), 16),
    "gp, workers at once": parallel(study(DOWN, cube(2), 15), 12, bowl),
    "gp, workers at once, ucb": parallel(study(DOWN, MIXED, 15, acquisition="ucb"), 6, bowl),
    "gp, batches": plain(study(DOWN, cube(3), 16), 8, count=4),
    "gp, batches by thompson": plain(study(DOWN, MIXED, 16, acquisition="thompson"), 6, count=3),
    "gp, failed, infeasible and abandoned": troubled(study(DOWN, cube(2), 17), 36, bowl),
    "gp, an outcome constraint": several(bounded([("a", "minimize", {}), ("b", "constrain", {"max": 0.2})]), 24),
    "gp, two outcome constraints": several(bounded([("a", "minimize", {}), ("b", "constrain", {"min": -0.3, "max": 0.4}),
                                                    ("c", "constrain", {"min": 0.0})]), 20, kernel="matern32"),
    "gp, two objectives": several(bounded([("a", "minimize", {}), ("b", "maximize", {})]), 26),
    "gp, three objectives": several(bounded([("a", "minimize", {}), ("b", "maximize", {}), ("c", "maximize", {})]), 18),
    "gp, four objectives": several(bounded([(name, "minimize", {}) for name in "abcd"]), 14),
    "gp, two objectives and a constraint": several(bounded([("a", "minimize", {}), ("b", "maximize", {}),
                                                            ("c", "constrain", {"min": 0.0})]), 20),
    "gp, imported, queued, with deviations": noisy,
    "gp, fixed parameters": fixed,
    "gp, a finite space to its end": plain(study(DOWN, SMALL, 18), 12),
    "gp, a finite space that repeats": plain(study(DOWN, SMALL, 19, repeat=True), 16),
    "gp, 60 values": imported(60, 2),
    "gp, 130 values": imported(130, 6),
    "gp, 520 values": imported(520, 2),
    "gp, 1196 values": imported(1196, 5),
    "gp, 2140 values": imported(2140, 1),
    "gp, predictions": insight,
    "gp, candidates": matrix(24, algorithm="gp"),
    "gp, candidates, ucb": matrix(12, algorithm="gp", acquisition="ucb", kernel="matern32", batch=2),
    "without a study": stateless,
    "random, mixed": plain(study(DOWN, MIXED, 20, "random"), 12),
    "random, conditional and priors": plain(study(DOWN, space(*TREE["parameters"], *BELIEVED["parameters"]), 21, "random"), 12),
    "random, constraints": plain(study(DOWN, LINES, 22, "random"), 12),
    "random, a finite space to its end": plain(study(DOWN, SMALL, 22, "random"), 12),
    "random, candidates": matrix(10, algorithm="random"), "sobol, mixed": plain(study(DOWN, MIXED, 23, "sobol"), 16),
    "sobol, conditional and priors": plain(study(DOWN, space(*TREE["parameters"], *BELIEVED["parameters"]), 24, "sobol"), 12),
    "sobol, constraints": plain(study(DOWN, LINES, 25, "sobol"), 12),
    "cma-es, mixed": plain(study(DOWN, MIXED, 61, "cma-es"), 60), "cma-es, failed and infeasible": troubled(study(DOWN, cube(4), 62, "cma-es"), 40, bowl),
    "auto, a turn of cma-es after one of gp": imported(245, 16, "auto"), "turbo, twenty parameters": plain(study(DOWN, cube(20), 26, "turbo"), 24),
    "turbo, a box that starts anew": plain(study(DOWN, cube(2), 27, "turbo"), 60),
    "turbo, mixed, workers at once": parallel(study(DOWN, MIXED, 28, "turbo"), 8, bowl),
    "turbo, failed and infeasible": troubled(study(DOWN, cube(4), 29, "turbo"), 24, bowl),
    "po-gp-ucb, open rows": matrix(20, algorithm="po-gp-ucb"),
    "po-gp-ucb, given hyper-parameters": matrix(12, algorithm="po-gp-ucb", length_scale=0.4, signal_variance=0.5, noise_variance=0.01,
                                                mean=0.25, initial=2, delta=0.1, release_noise=0.01, release_dims=2, batch=2),
    "po-gp-ucb, a projection": matrix(14, algorithm="po-gp-ucb", release=projection(3)),
    "po-gp-ucb, a release with noise": matrix(16, algorithm="po-gp-ucb", release=laplace(3)),
    "transfer": learner(12, algorithm="transfer"),
    "transfer, candidates": learner_of_rows(12, algorithm="transfer"),
    "rm-gp-ucb": learner(12, algorithm="rm-gp-ucb"),
    "rm-gp-ucb, se, each, theory": learner(8, algorithm="rm-gp-ucb", kernel="se", units="each", width="theory", gap="max", initial=2),
    "rm-gp-ucb, given, fixed, schedule": learner(8, algorithm="rm-gp-ucb", length_scale=0.3, signal_variance=1.0, noise_variance=0.01,
                                                 mean=0.5, weights="fixed", width="schedule"),
    "rm-gp-ucb, candidates": learner_of_rows(10, algorithm="rm-gp-ucb"),
    "rm-gp-ts": learner(10, algorithm="rm-gp-ts"),
    "rm-gp-ts, candidates": learner_of_rows(8, algorithm="rm-gp-ts"),
    "rgpe": learner(10, algorithm="rgpe"),
    "rgpe, candidates": learner_of_rows(8, algorithm="rgpe"),
    "taf": learner(10, algorithm="taf", bandwidth=0.3),
    "taf, candidates": learner_of_rows(8, algorithm="taf"),
    "bo-bos": reports(study(DOWN, cube(2), 51, "bo-bos", epochs=16, warm_up=4, paths=20000), 16, 16),
    "bo-bos, log-ei": reports(study(UP, MIXED, 52, "bo-bos", epochs=10, warm_up=3, paths=5000, acquisition="log-ei", kappa=4.0, k1=20.0), 12, 10),
    "median rule": reports(study(DOWN, cube(2), 53, stopping={"rule": "median", "epochs": 8, "warm_up": 2, "min_trials": 3}), 14, 8),
    "halving": reports(study(DOWN, cube(2), 54, stopping={"rule": "asha", "epochs": 9, "reduction": 3}), 14, 9),
    "fts, a study": hosted("root", 18),
    "fts, a study, linear": hosted("linear", 12),
    "fts, an agent": outside("fts", 12),
    "dp-fts-de, an agent": outside("dp-fts-de", 14, privacy=BUDGET, weights={"a": 4.0, "b": 1.0, "hold": 2, "decay": 3}),
    "linear-ts": pictures(30, algorithm="linear-ts"), "bos2": pictures(44, initial=2, steps=6, groups=3, decompositions=4),
    "bos2, never early": pictures(24, False, initial=2, steps=5, groups=4, decompositions=3),
    "macro-bo": walk(SITES, 6, "macro-bo", length_scale=2.5, signal_variance=0.6, noise_variance=0.06, mean=0.4),
    "macro-bo, estimated": walk(GRID, 5, "macro-bo", horizon=2, samples=20, beta=0.5),
    "macro-bo, most likely outputs": walk(GRID, 5, "macro-bo", outputs="most_likely", beta=1.0, kernel="matern52"),
    "macro-bo, epsilon and threshold": walk(SITES, 4, "macro-bo", horizon=2, epsilon=60.0, threshold=0.5, kernel="matern32", length_scale_x=2.0,
                                            length_scale_y=3.0, signal_variance=0.6, noise_variance=0.06, mean=0.4),
    "macro-bo, listed macro-actions": walk(LISTED, 5, "macro-bo", horizon=2, length_scale=1.5, signal_variance=0.6, noise_variance=0.06,
                                           mean=0.4),
    "macro-bo-anytime": walk(OCEAN, 4, "macro-bo-anytime", nodes=20000, length_scale=0.5, signal_variance=1.0, noise_variance=1e-5, mean=0.0),
    "macro-bo-anytime, estimated": walk(GRID, 4, "macro-bo-anytime", horizon=2, nodes=5000, gap=0.01, kernel="matern12"),
    "game, level 0": match(14, [{"name": "a", "actions": line(5)}, {"name": "d", "actions": line(4, 2), "level0": "exp3"}]),
    "game, level 1 against level 0": match(14, [{"name": "a", "actions": line(5), "level": 1}, {"name": "d", "actions": line(4)}]),
    "game, lite": match(12, [{"name": "a", "actions": line(5), "level": 1, "lite": True}, {"name": "d", "actions": line(4), "level0": "random"}]),
    "game, level 2": match(12, [{"name": "a", "actions": line(5), "level": 2}, {"name": "d", "actions": line(4), "level": 1}],
                           strategy={"bound": "theory", "initial_rounds": 3}),
    "game, points": match(8, [{"name": "a", "actions": PLANE, "level": 1}, {"name": "d", "actions": PLANE, "level": 2}],
                          strategy={"samples": 20}),
    "game, three agents, given model": match(8, [{"name": "a", "actions": line(4), "level": 2, "length_scale": 0.7},
                                                 {"name": "d", "actions": line(3), "level": 1}, {"name": "e", "actions": line(3)}],
                                             model={"length_scale": 0.31, "mean": 0.25, "variance": 0.5, "noise": 0.001}),
    "game, constant sum": match(8, [{"name": "a", "actions": line(5), "level": 1}, {"name": "d", "actions": line(4), "level": 2}],
                                payoffs="constant", total=1.0),
    "game, in common": match(8, [{"name": "a", "actions": line(5), "level": 1}, {"name": "d", "actions": line(4), "level0": "exp3"}],
                             payoffs="common"),
}


# ---- the file and the comparison ----

def as_text(value):
    return json.dumps(value, separators=(",", ":"))


def write(studies):
    with open(FILE + ".new", "w") as stream:
        pieces = [f'{json.dumps(name)}:[\n' + ",\n".join(map(as_text, steps)) + "\n]" for name, steps in studies.items()]
        stream.write(f'{{"libraries":{json.dumps(libraries())},\n"studies":{{\n' + ",\n".join(pieces) + "\n}}\n")
    os.replace(FILE + ".new", FILE)


def replay(service, steps):
    """What differs first, or None."""
    for i, (verb, arguments, *wanted) in enumerate(steps):
        try:
            came = getattr(service, verb)(*arguments)
            came = [] if came is None else [came]
        except AssertionError as failure:
            return f"step {i + 1}, {verb}: {failure}"
        if as_text(came) != as_text(wanted):
            return f"step {i + 1}, {verb}: {difference(wanted, came)}"
    return None


def difference(wanted, came, where=""):
    """The first place where two values differ, as text."""
    if type(wanted) is type(came) and isinstance(wanted, list) and len(wanted) == len(came):
        return next(difference(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(wanted, came)) if as_text(a) != as_text(b))
    if type(wanted) is type(came) and isinstance(wanted, dict) and list(wanted) == list(came):
        return next(difference(wanted[k], came[k], f"{where}.{k}") for k in wanted if as_text(wanted[k]) != as_text(came[k]))
    return f"{where} was {as_text(wanted)[:200]}, is {as_text(came)[:200]}"


def libraries():
    """What rounds besides our own code."""
    nlopt = (ctypes.c_int * 3)()
    ctypes.CDLL("libnlopt.so.0").nlopt_version(*[ctypes.byref(nlopt, 4 * i) for i in range(3)])
    config = ctypes.CDLL("libopenblas.so.0").openblas_get_config
    config.restype = ctypes.c_char_p
    return f"{' '.join(config().decode().split()[:2])}, NLopt {'.'.join(map(str, nlopt))}, {' '.join(platform.libc_ver())}"


def record(service, names):
    studies = json.load(open(FILE))["studies"] if names else {}
    for name in names or STUDIES:
        recorder = Recorder(service())
        STUDIES[name](recorder)
        studies[name] = recorder.steps
        print(f"recorded  {name}: {len(recorder.steps)} steps", flush=True)
    write({name: studies[name] for name in STUDIES})
    return 0


def compare(service, names):
    recorded = json.load(open(FILE))
    studies = recorded["studies"]
    verdict = harness.Verdict()
    verdict.check("every study of this script is recorded", list(studies) == list(STUDIES))
    for name in names or studies:
        made = service()
        found = replay(made, studies[name]) or harness.audit_all(made.api, made.ids.values())
        verdict.check(name, found is None, found or "")
    if verdict.failed:
        print(f"recorded with {recorded['libraries']}; here: {libraries()}")
        print("if the commit is meant to change these proposals: replay.py --record NAME..., and the message says why")
    return verdict.end()


def main(arguments):
    if platform.machine() != "x86_64":
        print(f"SKIPPED: the recording is of x86-64, this is {platform.machine()}; its bits can differ without a mistake")
        return 0
    folder = tempfile.mkdtemp(prefix="gnomon-replay-")
    os.environ.update(PLAIN)
    server = harness.Server(os.path.join(folder, "data"), arguments=["--synchronous", "OFF", "--compute-ms", "0"])
    try:
        server.start()
        api = harness.Api(server.port, server.token("admin"))

        def service():
            return Service(server, api, folder)

        code = record(service, arguments[1:]) if arguments[:1] == ["--record"] else compare(service, arguments)
        return code or server.stop()
    except Exception:
        print(open(server.folder + ".log").read()[-2000:])
        raise
    finally:
        if server.process and server.process.poll() is None:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
