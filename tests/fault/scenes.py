"""What the tests that kill servers share: clients that repeat a request until a server answers, and what must be true of what
they were answered: of studies, whose suggestions a server that was never killed makes again, and of federations."""
import hashlib
import random
import threading
import time

from harness import Client, Server, Verdict, wait_for

verdict = Verdict()
FEATURES, EPSILON = 25, 7.25  # of a federation: numbers in a message, budget


class Caller(threading.Thread):
    """cluster: .servers, .up (an event: there may be one), .over; each client says in work() what it does until that."""
    TEMPORARY = {503: ("busy", "deadline_exceeded", "planning"), 429: ("too_many_waiting",)}
    patience_s = None  # for an answer, before another server is asked: with more, so that a slow machine gives one, too

    def __init__(self, cluster, number, seed):
        super().__init__(daemon=True)
        self.cluster, self.number, self.random = cluster, number, random.Random(f"{seed}/{number}")
        self.clients, self.token, self.error = {}, None, None
        self.calls, self.busy, self.lost, self.in_vain = 0, 0, 0, 0  # in_vain: how often in turn there was no answer in time

    def client(self, at):
        if at not in self.clients:
            self.cluster.up.wait()
            self.clients[at] = Client(self.cluster.servers[at].port, self.token or self.cluster.servers[at].token)
            if self.patience_s:
                self.clients[at].socket.settimeout(self.patience_s * self.random.uniform(0.5, 1.5) * 2 ** self.in_vain)
        return self.clients[at]

    def ask_one(self, at, method, path, body, headers):
        client = self.client(at)
        status, reply = client.call(method, path, body, headers)
        self.calls += 1
        if status in (429, 503):
            verdict.check("retry-after" in client.fields, f"{method} {path}: {status} without Retry-After: {reply}")
            verdict.check(reply["code"] in self.TEMPORARY[status], f"{path}: {status} {reply}")
        return status, reply

    def ask(self, method, path, body=None, headers=""):
        """The first (status, reply) that is not a temporary refusal."""
        while True:
            at = self.random.randrange(len(self.cluster.servers))
            try:
                status, reply = self.ask_one(at, method, path, body, headers)
                self.in_vain = 0
                if status not in self.TEMPORARY:
                    return status, reply
                self.busy += 1
                time.sleep(0.01)
            except OSError as error:
                self.clients.pop(at, None)
                self.lost += 1
                self.in_vain += isinstance(error, TimeoutError) and self.in_vain < 5
                time.sleep(0.001)

    def post(self, path, body, key=None):
        status, reply = self.ask("POST", path, body, f"Idempotency-Key: {key}\r\n" if key else "")
        if status != 200:
            raise AssertionError(f"{path} {body}: {status} {reply}")
        return reply

    def fresh(self):
        """A name that nobody else has."""
        return f"{self.number}-{self.calls}-{self.random.random()}"

    def run(self):
        try:
            while not self.cluster.over:
                self.work()
        except Exception as error:  # reported by join_all
            self.error = error


def wait_for_answers(callers, count):
    """So many more than there were; or one of them has stopped, of which join_all tells."""
    wanted = sum(caller.calls for caller in callers) + count
    if not wait_for(lambda: sum(caller.calls for caller in callers) >= wanted or any(caller.error for caller in callers)):
        raise TimeoutError(f"{count} answers")


def join_all(callers):
    for caller in callers:
        caller.join(600)
        verdict.check(not caller.is_alive() and caller.error is None, f"client {caller.number}: {caller.error!r}")


# ---- studies ----

class Study:
    def __init__(self, made):
        self.id, self.lock, self.path = made["id"], threading.Lock(), f"/v1/studies/{made['id']}"
        self.values, self.points, self.by_id = {}, {}, {}  # acknowledged: trial -> value, trial -> point, id -> value

    def suggested(self, trial):
        with self.lock:
            first = self.points.setdefault(trial["number"], trial["point"])
        verdict.check(first == trial["point"], f"trial {trial['number']} has two points")

    def observed(self, acknowledged, key, value):
        with self.lock:
            acknowledged[key] = value


def check_study(client, study):
    """The invariants of one study; returns its export."""
    export = client.get(f"{study.path}/export?format=json")
    trials = {trial["number"]: trial for trial in export["trials"]}
    identifiers = [trial["external_id"] for trial in export["trials"] if trial["external_id"]]
    reported = {trial["external_id"]: trial["value"] for trial in export["trials"]}
    lost = [n for n, value in study.values.items() if n not in trials or trials[n]["value"] != value]
    lost += [i for i, value in study.by_id.items() if reported.get(i) != value]
    verdict.check(not lost, f"acknowledged observations are missing: {lost[:5]}")
    changed = [n for n, point in study.points.items() if n not in trials or trials[n]["point"] != point]
    verdict.check(not changed, f"acknowledged suggestions are missing: {changed[:5]}")
    numbers = [trial["number"] for trial in export["trials"]]
    verdict.check(sorted(numbers) == list(range(1, len(numbers) + 1)), f"numbers are not 1..{len(numbers)}")
    verdict.check(len(identifiers) == len(set(identifiers)) == len(study.by_id), "an external_id has not one trial")
    left = [n for n, trial in trials.items() if trial["state"] != "completed"]
    verdict.check(not left, f"trials that no client holds: {left[:5]}")
    return export


def replay(client, export, begin=lambda path: None, place="point"):
    """Feeds the log to a study of another server, which begin(its path) makes ready.  Returns its path and the suggestions that
    differ."""
    spec = {**export["study"], "lease_seconds": 86400}  # none ends, however long it takes
    path = f"/v1/studies/{client.post('/v1/studies', spec, 201)['id']}"
    begin(path)
    trials = {trial["number"]: trial for trial in export["trials"]}
    steps = [(trial["model"]["revision"], 1, number, trial) for number, trial in trials.items() if trial["model"]]
    steps += [(event["revision"], 0, event["trial"], trials[event["trial"]]) for event in export["events"]
              if event["kind"] in ("trial.observed", "trial.added") and event["revision"]]
    differ, numbers, reported = [], {}, set()
    for _, is_suggestion, number, trial in sorted(steps, key=lambda step: step[:3]):
        if is_suggestion:
            answer = client.post(f"{path}/suggest", {"worker": f"worker-{number}"})["trials"][0]
            numbers[number] = answer["number"]
            if answer[place] != trial[place]:
                differ.append(f"{number}: {trial[place]} became {answer[place]}")
        elif trial["model"]:
            client.post(f"{path}/observe", {"trial": numbers[number], "value": trial["value"]})
        elif number not in reported:
            reported.add(number)
            client.post(f"{path}/observe", {"point": trial["point"], "value": trial["value"]})
    return path, differ


def check_studies(client, other, studies):
    """Each by itself and against another server, which is told its log.  Returns how many suggestions were compared."""
    for study in studies:
        export = check_study(client, study)
        path, differ = replay(other, export)
        verdict.check(not differ, f"{len(differ)} of {len(study.points)} suggestions differ; {differ[:1]}")
        if export["study"].get("budget"):
            continue  # nothing comes next
        ask = {"worker": "next", "count": 3}
        after = [one.post(f"{where}/suggest", ask)["trials"] for one, where in ((client, study.path), (other, path))]
        verdict.check([t["point"] for t in after[0]] == [t["point"] for t in after[1]],
                      f"the next suggestions differ: {after}")
    return sum(len(study.points) for study in studies)


# ---- federations ----

class Federation:
    def __init__(self, client, number, seats, round_seconds):
        made = client.post("/v1/federations", {
            "name": f"federation {number}", "metrics": [{"name": "y", "goal": "maximize"}], "seats": seats,
            "space": {"type": "parameters", "parameters": [{"name": "x", "type": "double", "min": -1.5, "max": 2.25}]},
            "algorithm": {"name": "dp-fts-de", "features": FEATURES, "features_seed": number, "regions": 2},
            "minimum_agents": 5, "rounds": 1000, "round_seconds": round_seconds,
            "privacy": {"epsilon": EPSILON, "delta": 0.00385, "sampling_rate": 0.385, "clip": 9.5, "noise_multiplier": 1.15}},
                           201)
        self.id, self.digest, self.path = made["id"], made["features_sha256"], f"/v1/federations/{made['id']}"
        self.tokens = [client.post(f"{self.path}/agents", {"name": f"agent {n}"}, 201)["token"] for n in range(seats)]
        self.seen, self.lock, self.is_over = {}, threading.Lock(), False  # seen: round -> digests that agents were given


class Agent(Caller):
    """Sends for the open round and reads its broadcast; some rounds some stay away, so that the deadline closes these."""

    def __init__(self, cluster, number, seat, seed):
        super().__init__(cluster, number, seed)
        self.seat, self.federation, self.sent, self.sends = seat, None, {}, 0

    def send(self, number):
        message = self.sent.setdefault((self.federation.id, number), [self.random.gauss(0, 3) for _ in range(FEATURES)])
        status, reply = self.ask("PUT", f"{self.federation.path}/rounds/{number}/messages/{self.seat + 1}"
                                        f"?features={self.federation.digest}", message)
        allowed = ("round_closed", "federation_completed")
        verdict.check(status == 200 or (status == 409 and reply["code"] in allowed), f"message: {status} {reply}")
        self.sends += status == 200

    def read(self, number):
        """Until the round is closed, or never will be."""
        while not self.cluster.over:
            status, reply = self.ask("GET", f"{self.federation.path}/rounds/{number}/broadcast")
            if status == 200:
                with self.federation.lock:
                    self.federation.seen.setdefault(number, set()).add(reply["sha256"])
                return
            if status == 409 and reply["code"] != "round_open":
                return
            verdict.check(status in (404, 409), f"broadcast: {status} {reply}")
            time.sleep(0.01)

    def work(self):
        newest = self.cluster.federations[-1]
        if self.federation is not newest:
            self.federation, self.clients, self.token = newest, {}, newest.tokens[self.seat]
        status, state = self.ask("GET", self.federation.path)
        verdict.check(status == 200, f"federation: {status} {state}")
        if state["state"] == "completed":
            self.federation.is_over = True
            time.sleep(0.01)
            return
        number = state["round"]
        if number % 7 == 3 and self.seat % 3 == 0:  # away
            time.sleep(0.02)
        else:
            self.send(number)
        self.read(number)
        if number > 1 and self.random.random() < 0.2:
            self.read(self.random.randint(1, number - 1))


ROUNDS_SQL = ("SELECT federation, round, data FROM federation_broadcast",
              "SELECT federation, round, sha256, epsilon, total FROM federation_ledger",
              "SELECT count(*) FROM federation_message m JOIN federation f ON f.id = m.federation WHERE m.round < f.round",
              "SELECT id, round, received, epsilon FROM federation",
              "SELECT federation, count(*) FROM federation_message GROUP BY federation")


def check_rounds(rows, given_to, totals):
    """Of the rows of ROUNDS_SQL; returns how many rounds are closed."""
    broadcasts, ledger, late, federations, messages = rows
    digests = {(name, number): hashlib.sha256(data).hexdigest() for name, number, data in broadcasts}
    debits = {(name, number): (digest, total) for name, number, digest, _, total in ledger}
    verdict.check(len(digests) == len(broadcasts) and len(debits) == len(ledger), "a round has two of something")
    verdict.check({key: digest for key, (digest, _) in debits.items()} == digests, "broadcasts and debits differ")
    wrong = [key for key, (_, total) in debits.items() if total > EPSILON or total != totals[key[1]]]
    verdict.check(not wrong, f"totals that are not what the accountant says: {wrong[:3]}")
    verdict.check(late[0][0] == 0, f"{late[0][0]} messages of closed rounds are left")
    held = dict(messages)
    for name, number, received, epsilon in federations:
        verdict.check(held.get(name, 0) == received, f"{name}: {received} messages counted, {held.get(name, 0)} there")
        closed = [key for key in digests if key[0] == name]
        verdict.check(len(closed) == number - 1 and epsilon == totals[number - 1], f"{name} is in round {number}, "
                      f"with {len(closed)} broadcasts and epsilon {epsilon}")
    for federation in given_to:
        with federation.lock:
            given = {number: set(seen) for number, seen in federation.seen.items()}
        for number, seen in given.items():
            verdict.check(seen == {digests.get((federation.id, number))}, f"{federation.id} round {number}: {seen} were "
                          f"given, {digests.get((federation.id, number))} is there")
    return len(digests)


def totals_of(server, seats):
    """What the rounds cost, from a server that is not killed: [0, after one, after two, ..]."""
    client = server.client()
    federation, totals = Federation(client, 0, seats, 600), [0.0]
    while client.get(federation.path)["state"] == "active":
        number = len(totals)
        for n, token in enumerate(federation.tokens):
            agent = Client(server.port, token)
            agent.expect(200, "PUT", f"{federation.path}/rounds/{number}/messages/{n + 1}?features={federation.digest}",
                         [0.5] * FEATURES)
            agent.close()
        totals.append(client.get(f"{federation.path}/privacy")["guarantee"]["epsilon_spent"])
    state = client.get(federation.path)
    verdict.check(state["reason"] == "privacy_budget_exhausted" and totals[-1] <= EPSILON, f"{state} {totals}")
    return totals
