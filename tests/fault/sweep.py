"""What the tests share that let the n-th call of something fail: a set of requests, one of each kind of use, and what must
hold of each whatever fails meanwhile.

The process lives, or ends with 70; a request is answered as it would be, or refused by a problem of ours that is
documented, or not at all; it can be repeated; nothing that was acknowledged is lost; at the end the store is whole.
"""
import os

from harness import Server, integrity, parameters_study, wait_for

FEDERATION = {"name": "f", "metrics": [{"name": "y", "goal": "maximize"}], "seats": 3, "rounds": 9,
              "space": {"type": "parameters", "parameters": [{"name": "x", "type": "double", "min": -1.5, "max": 2.25}]},
              "algorithm": {"name": "dp-fts-de", "features": 20, "regions": 2},
              "privacy": {"epsilon": 8, "delta": 0.0137, "sampling_rate": 0.385, "clip": 9.5}}
PLAN = {"name": "p", "metrics": [{"name": "y", "goal": "maximize"}], "algorithm": {
    "name": "macro-bo", "length_scale": 2.5, "signal_variance": 0.6, "noise_variance": 0.06, "mean": 0.4},
        "space": {"type": "graph", "sites": [[0, 0], [2.5, 0], [5, 0]], "edges": [[0, 1], [1, 2]],
                  "start": 0, "macro_action_length": 1}}
POINT = {"rate": 0.0031, "depth": 7, "kind": "ash"}
ENDED = 70


class Sweep:
    def __init__(self, folder, env, verdict):
        self.verdict, self.number, self.acked, self.answers, self.fired, self.ends = verdict, 0, {}, {}, 0, 0
        self.server = Server(folder)
        self.server.start()
        verdict.check(self.server.stop() == 0, "did not stop with 0")  # the token is made without the library
        self.server.env = env
        self.server.start()
        client = self.server.client()
        self.path = "/v1/studies/" + client.post("/v1/studies", parameters_study("m", {"name": "random"}, 5), 201)["id"]
        plan = client.post("/v1/studies", PLAN, 201)["id"]
        made = client.call("POST", f"/v1/studies/{plan}/suggest", {"worker": "w"}, "Prefer: respond-async\r\n")
        verdict.check(made[0] == 202, f"{made} is no operation")
        self.operation = f"/v1/operations/{made[1]['id']}"
        verdict.check(wait_for(lambda: client.get(self.operation)["state"] == "succeeded"), "the operation goes on")
        self.known = {}
        for n in range(3):
            client.post(f"{self.path}/observe", {"point": POINT, "value": n * 0.37 - 1})

    def requests(self, names=None):
        """(method, path, body, headers, statuses without a fault) by name, with what must be new new."""
        self.number += 1
        n = self.number
        made = {
            "read": ("GET", self.path, None, "", (200,)),
            "list": ("GET", "/v1/studies?limit=3", None, "", (200,)),
            "trials": ("GET", f"{self.path}/trials?limit=5", None, "", (200,)),
            "export": ("GET", f"{self.path}/export?format=csv", None, "", (200,)),
            "operation": ("GET", self.operation, None, "", (200,)),
            "events": ("GET", f"/v1/events?study={self.path[12:]}&limit=5", None, "", (200,)),
            "create": ("POST", "/v1/studies", parameters_study(f"s{n}", {"name": "random"}, 3), "", (201,)),
            "patch": ("PATCH", self.path, {"notes": f"n{n}"}, "If-Match: *\r\n", (200,)),
            "suggest": ("POST", f"{self.path}/suggest", {"worker": "w", "count": 2}, "", (200,)),
            "observe": ("POST", f"{self.path}/observe", {"point": POINT, "value": n + 0.75, "external_id": f"id-{n}"}, "", (200,)),
            "batch": ("POST", f"{self.path}/observe", {"observations": [
                {"point": POINT, "value": i + 0.5, "external_id": f"b-{n}-{i}"} for i in range(12)]}, "", (200,)),
            "keyed": ("POST", f"{self.path}/observe", {"point": POINT, "value": n + 0.25, "external_id": f"k-{n}"},
                      f"Idempotency-Key: k{n}\r\n", (200,)),
            "token": ("POST", "/v1/tokens", {"name": f"t{n}", "scope": "read"}, "", (201,)),
            "federation": ("POST", "/v1/federations", FEDERATION, "", (201,)),
        }
        for name, kind, body in (("delete", "studies", parameters_study(f"d{n}", {"name": "random"}, 3)),
                                 ("revoke", "tokens", {"name": f"r{n}", "scope": "read"})):
            if names is None or name in names:
                one = self.ask(("POST", f"/v1/{kind}", body, ""))[1]["id"]
                made[name] = ("DELETE", f"/v1/{kind}/{one}", None, "", (204, 404))  # 404: it was done, and not said
        return made if names is None else {name: made[name] for name in names}

    def attempt(self, request):
        """(status, code); status 0: no answer."""
        status, reply = self.answer(request)
        return status, reply.get("code") if isinstance(reply, dict) else None

    def answer(self, request):
        """(status, reply); status 0: no answer."""
        try:
            client = self.server.client()
            try:
                return client.call(*request[:4])
            finally:
                client.close()
        except OSError:
            return 0, None

    def ask(self, request):
        """(status, reply) while nothing is made to fail.  A thread that met the last fault may end the process only now."""
        status, reply = self.answer(request)
        if status == 0 and self.live("after the fault"):
            status, reply = self.answer(request)
        return status, reply

    def keep(self, request, status, what=""):
        body = request[2] if isinstance(request[2], dict) else {}
        if status == 200 and request[1].endswith("/observe"):
            for one in body.get("observations", [body]):
                self.acked[one["external_id"]] = one["value"], what

    def one(self, what, request, arm, disarm, refusals=range(500, 600)):
        """The request with the fault, then without; how it may be refused."""
        arm()
        status, code = self.attempt(request)
        self.fired += bool(disarm())
        self.keep(request, status, what)
        self.answers[status, code] = self.answers.get((status, code), 0) + 1
        good = status in request[4] or status in refusals or status == 0
        self.verdict.check(good, f"{what}: {request[0]} {request[1]}: {status} {code}")
        self.live(what)
        if code is not None and code not in self.known:
            self.known[code] = self.ask(("GET", f"/problems/{code}", None, ""))[0] == 200
        self.verdict.check(code is None or self.known[code], f"{what}: {code} is not documented")
        if status not in request[4]:
            again, reply = self.ask(request)
            if isinstance(reply, dict) and reply.get("code") == "store_corrupt":  # until it is started again
                self.verdict.check(self.server.stop() == 0, f"{what}: did not stop with 0")
                self.server.start()
                again, reply = self.ask(request)
            self.verdict.check(again in request[4], f"{what}: {request[0]} {request[1]}: {again} {reply} when repeated after {status} {code}")
            self.keep(request, again)

    def live(self, what):
        """A process that ended, did so with 70; then another one, and True."""
        there = wait_for(lambda: self.server.process.poll() is not None or self.attempt(("GET", "/livez", None, ""))[0] == 200)
        if not self.verdict.check(there, f"{what}: the server neither answers nor ends") or (code := self.server.process.poll()) is None:
            return False
        self.ends += 1
        self.verdict.check(code == ENDED, f"{what}: the server ended with {code}")
        self.server.start()
        return True

    def finish(self):
        export = self.server.client().get(f"{self.path}/export?format=json")
        have = {trial["external_id"]: trial["value"] for trial in export["trials"] if trial["external_id"]}
        lost = [f"{key} ({what})" for key, (value, what) in self.acked.items() if have.get(key) != value]
        self.verdict.check(not lost, f"acknowledged and missing: {lost[:5]}")
        numbers = [trial["number"] for trial in export["trials"]]
        self.verdict.check(sorted(numbers) == list(range(1, len(numbers) + 1)), "numbers have gaps")
        self.verdict.check(self.server.stop() == 0, "did not stop with 0")
        self.verdict.check((state := integrity(self.server.folder)) == "ok", f"integrity: {state}")
        print(f"{self.fired} faults fired, {self.ends} of them ended the process, {len(self.acked)} observations acknowledged; "
              f"answers: {dict(sorted(self.answers.items(), key=str))}")


def spread(count, points):
    """At most so many of 1..count, the first and the last among them."""
    if count <= points:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (points - 1)) for i in range(points)}) if points > 1 else [1]


def points_of(default):
    return int(os.environ.get("POINTS", default))
