"""Stores of every released schema: each is migrated, keeps every row, and its studies go on as if nothing had happened.

usage: GNOMON=build/gnomon BUILD=build python3 stores.py [--make | --record]

tests/data/stores/NNN.db was left by the last program whose schema was NNN: studies of many algorithms, federations, games
and candidates in the middle of their run.  NNN.json has the steps that were still to come, with what came of them
(replay.py says what a step is).  They are taken twice, by the program, and by one with a migration more
(tests/fault/next.sql), and must give the same bits.

--make writes both files for the program's schema; do it once, before the next schema is begun.  --record writes anew what
came of the steps: only in a commit that is meant to change proposals, as for replay.json.
"""
import hashlib
import json
import os
import platform
import shutil
import sqlite3
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay  # noqa: E402
import witness  # noqa: E402
from replay import harness  # noqa: E402
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fault"))
import sums  # noqa: E402

STORES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data", "stores")
NEXT = os.path.join(os.environ.get("BUILD", "build"), "next", "gnomon")
NAMES = ["gp, mixed parameters", "gp, conditional parameters", "gp, failed, infeasible and abandoned", "gp, two objectives",
         "gp, an outcome constraint", "gp, imported, queued, with deviations", "random, mixed", "sobol, mixed",
         "turbo, failed and infeasible", "po-gp-ucb, open rows", "po-gp-ucb, a release with noise", "rm-gp-ucb", "taf, candidates",
         "bo-bos", "median rule", "fts, a study", "bos2", "macro-bo", "game, level 2", "game, constant sum"]


def open_store(folder):
    return sqlite3.connect(f"file:{folder}/gnomon.db?mode=ro", uri=True)


def tables(store):
    return [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                                            " ORDER BY name")]


RULES = ("stop_when", "lease_seconds", "shareable")  # of a study, once members of its specification


def as_named_today(value):
    """What is stored as JSON, under the names that the migrations since gave it."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    for old, new in (('"fit_milliseconds"', '"fit_ms"'), ('"scalarised-', '"scalarized-'), ('"agent"', '"seat"')):
        value = value.replace(old, new)
    made = json.loads(value)
    if "fit_ms" in made:
        made = {"kernel": None, "output": None, **made}
    return json.dumps({name: made[name] for name in made if name not in RULES}, sort_keys=True)


def rows(store, table, columns):
    return sorted(repr([as_named_today(value) for value in row])
                  for row in store.execute(f"SELECT {', '.join(columns)} FROM {table}"))


def columns_of(store, table):
    return [row[1] for row in store.execute(f"PRAGMA table_info({table})")]


class Running:
    """A program on a folder, and the services that replay.py takes its steps with."""

    def __init__(self, program, folder):
        harness.GNOMON = program
        self.folder = folder
        self.server = harness.Server(folder, arguments=["--synchronous", "OFF", "--compute-ms", "0"])
        self.server.start()
        self.api = harness.Api(self.server.port, self.server.token("admin"))

    def service(self, kept=None):
        service = replay.Service(self.server, self.api, os.path.dirname(self.folder))
        if kept is not None:
            service.ids, service.more = kept["ids"], kept["more"]
        return service

    def stop(self):
        return self.server.stop()


# ---- making a store ----

def half(service, steps):
    """Takes steps until half of them are done and no trial is running, whose lease would be over at the next start.  How
    many."""
    for done, (verb, arguments, *_) in enumerate(steps, 1):
        getattr(service, verb)(*arguments)
        studies = [service.api.get(f"/v1/studies/{real}") for real in service.ids.values() if real.startswith("std_")]
        if 2 * done >= len(steps) and all(study["trials"]["running"] == 0 for study in studies):
            return done
    return len(steps)


def import_copy(api, study):
    text = api.expect(200, "GET", f"/v1/studies/{study}/export")
    api.expect(201, "PUT", "/v1/imports/" + hashlib.sha256(text).hexdigest(), text, kind="application/x-ndjson")


def fill_the_rest(running, hosted):
    """What no recorded study leaves behind."""
    api = running.api
    gone = api.expect(201, "POST", "/v1/studies", {"name": "gone", **replay.study(replay.DOWN, replay.cube(2), 3)})["id"]
    api.expect(204, "DELETE", f"/v1/studies/{gone}")  # and its lines go later
    import_copy(api, hosted)
    body = {"name": "left running", **replay.study(replay.DOWN, replay.cube(2), 3)}
    address = "/v1/studies/" + api.expect(201, "POST", "/v1/studies", body, headers={"Idempotency-Key": "once"})["id"]
    api.expect(200, "POST", address + "/suggest", {"worker": "w", "count": 2})
    api.expect(200, "POST", address + "/observe", {"point": {"x0": 0.5, "x1": 0.25}, "value": 1.5})
    api.expect(200, "POST", address + "/trials/3/correct", {"value": 2.5, "reason": "a wrong column"})
    plan = {"name": "planned", **replay.study(replay.UP, replay.OCEAN, 9, "macro-bo-anytime", nodes=20000, length_scale=0.5,
                                                signal_variance=1.0, noise_variance=1e-5, mean=0.0)}
    address = "/v1/studies/" + api.expect(201, "POST", "/v1/studies", plan)["id"]
    headers = {"Prefer": "respond-async", "Idempotency-Key": "planned"}
    api.call("POST", address + "/suggest", {}, headers=headers)  # 200 when it was quick; its repeat is the operation
    operation = api.expect(202, "POST", address + "/suggest", {}, headers=headers)["id"]
    harness.wait_for(lambda: api.get(f"/v1/operations/{operation}")["state"] != "running", "the plan")
    key = os.path.join(os.path.dirname(running.folder), "refused")
    where = {"type": "candidates", "rows": 3, "columns": 2, "private": True,
             "curator_key": harness.gnomon("key", "--out", key).stdout.strip()}
    body = {"name": "refused", **replay.study(replay.DOWN, where, 3, "po-gp-ucb")}
    address = "/v1/studies/" + api.expect(201, "POST", "/v1/studies", body)["id"]
    manifest = {**replay.laplace(2), "rows": 3, "columns": 2, "bytes": 192, "tool": "gnomon 0.2.0", "sha256": "0" * 64,
                "dataset_tag": "1" * 64, "created_at": "2026-03-01T09:30:00.125Z",
                "key": where["curator_key"]}
    api.expect(201, "POST", address + "/candidates", harness.sign(manifest, key))
    api.expect(422, "PUT", address + "/candidates", bytes(192), kind="application/x-npy")


def let_lines_go(folder):
    server = harness.Server(folder, arguments=["--synchronous", "OFF", "--keep-events-seconds", "1"])
    server.start()
    store = open_store(folder)
    harness.wait_for(lambda: store.execute("SELECT count(*) FROM log_gap").fetchone()[0] > 0, "lines to go")
    store.close()
    assert server.stop() == 0


def make(folder):
    recorded = json.load(open(replay.FILE))["studies"]
    running = Running(harness.GNOMON, folder)
    kept = {}
    for name in NAMES:
        service = running.service()
        done = half(service, recorded[name])
        kept[name] = {"ids": service.ids, "more": service.more, "steps": recorded[name][done:]}
        assert kept[name]["steps"], name
        print(f"{name}: {done} done, {len(kept[name]['steps'])} to come", flush=True)
    fill_the_rest(running, next(real for real in kept["fts, a study"]["ids"].values() if real.startswith("std_")))
    assert running.stop() == 0
    let_lines_go(folder)
    with sums.Unguarded(folder) as store:
        store.execute("UPDATE token SET expires_ms = 0")  # or it could not be used for long
        sums.make(store, "token")
        sums.seal(store)
    store = sqlite3.connect(folder + "/gnomon.db", isolation_level=None)
    store.execute("VACUUM")
    version = store.execute("PRAGMA user_version").fetchone()[0]
    empty = [table for table in tables(store) if store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0]
    assert not empty, empty
    store.close()
    shutil.copyfile(folder + "/gnomon.db", f"{STORES}/{version:03d}.db")
    write(f"{version:03d}", kept)
    return 0


def write(name, kept):
    with open(f"{STORES}/{name}.json", "w") as stream:
        pieces = [f'{json.dumps(study)}:{{"ids":{replay.as_text(of["ids"])},"more":{replay.as_text(of["more"])},"steps":[\n'
                  + ",\n".join(map(replay.as_text, of["steps"])) + "\n]}" for study, of in kept.items()]
        stream.write("{\n" + ",\n".join(pieces) + "\n}\n")


# ---- going on with it ----

def best_so_far(store):
    """Of studies with one objective, each with fewer improvements than a sparkline has points."""
    drawn = {}
    for study, best in store.execute("SELECT id, best_value FROM study WHERE best_trial > 0"):
        ended = store.execute("SELECT number, value FROM trial WHERE study = ? AND state = 'completed' AND feasible = 1"
                              " ORDER BY ended, number", (study,)).fetchall()
        sign = 1 if best == max(value for _, value in ended) else -1
        line = []
        for number, value in ended:
            if not line or sign * value > sign * line[-1][1]:
                line = [point for point in line if point[0] < number] + [(number, value)]
        drawn[study] = {"trial": [number for number, _ in line], "value": [value for _, value in line]}
    return drawn


def makers(store):
    """Of each study who was the first here to make or import it, as the log says: later imports are of results."""
    names = dict(store.execute("SELECT id, name FROM token"))
    made = {}
    for study, actor in store.execute("SELECT study, actor FROM event WHERE kind IN ('study.created', 'study.imported') AND"
                                      " study IN (SELECT id FROM study) ORDER BY seq"):
        if not actor.startswith("elsewhere:"):
            made.setdefault(study, (actor, names[actor]))
    return made


WEIGHTS = ("sum", "extra_bytes", "used_extra")  # are made and counted anew


def check_rows(verdict, name, old, new):
    """Every row of the old store is in the new one, in every column that still is there; the log has a line more, to which all
    rows are bound anew."""
    lost = []
    for table in tables(old):
        columns = [column for column in columns_of(old, table) if column in columns_of(new, table) and column not in WEIGHTS]
        was, now = ([] if not columns else rows(store, table, columns) for store in (old, new))
        if table == "event":
            was, now = ([row for row in lines if "'store.changed'" not in row] for lines in (was, now))
        if table == "chain":  # which has come further
            was, now = [], []
        if not columns or was != now:
            lost.append(table)
    verdict.check(f"{name}: every row is kept", not lost, ", ".join(lost))
    drawn = {study: json.loads(points) for study, points in new.execute("SELECT study, points FROM sparkline")}
    verdict.check(f"{name}: the best so far of each study is drawn", drawn == best_so_far(new) and len(drawn) > 10)
    if "owner" not in columns_of(old, "study"):
        made = {study: (by, owner) for study, by, owner in new.execute("SELECT id, created_by, owner FROM study")}
        verdict.check(f"{name}: studies are whose token made or imported them", made == makers(old) and len(made) > 10)
    if "budget" not in columns_of(old, "study"):
        return
    kept = {study: json.loads(text) for study, text in new.execute("SELECT id, rules FROM study")}
    were = {}
    for study, budget, text in old.execute("SELECT id, budget, spec FROM study JOIN study_spec ON study = id"):
        rules = {rule: of for rule, of in json.loads(text).items() if rule in RULES and of is not None}
        were[study] = {**rules, **({"budget": {"trials": budget}} if budget > 0 else {})}
    verdict.check(f"{name}: studies are run as they were", kept == were and len(were) > 10)


def go_on(program, folder, kept):
    """What each study gave, instead of what is written; by name."""
    running = Running(program, folder)
    came = {}
    for name, of in kept.items():
        service = running.service(of)
        came[name] = []
        for verb, arguments, *_ in of["steps"]:
            result = getattr(service, verb)(*arguments)
            came[name].append([verb, arguments] + [result] * (result is not None))
    for study in running.api.get("/v1/studies?limit=100")["studies"]:
        running.api.get(f"/v1/studies/{study['id']}/export?format=json")
    assert running.stop() == 0
    return came


def migrated(verdict, name, program, folder):
    """A copy of the store, migrated by the program; the store before it, if it was older."""
    os.mkdir(folder)
    shutil.copyfile(f"{STORES}/{name}.db", folder + "/gnomon.db")
    witness.write(folder)
    harness.GNOMON = program
    done = harness.gnomon("migrate", "--data", folder)
    verdict.check(f"{name}: gnomon migrate", done.returncode == 0, done.stderr)
    witness.write(folder)  # of schema 1 and 2 there was none
    check = harness.gnomon("migrate", "--check", "--data", folder)
    verdict.check(f"{name}: nothing is left to do", check.returncode == 0, check.stderr)
    old, new = sqlite3.connect(f"{STORES}/{name}.db"), open_store(folder)
    check_rows(verdict, name, old, new)
    verdict.check(f"{name}: integrity", new.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
    old.close()
    new.close()


def test_one(verdict, name, folder, is_record):
    kept = json.load(open(f"{STORES}/{name}.json"))
    program = os.path.abspath(os.environ.get("GNOMON", "build/gnomon"))
    came = {}
    for which in [program] + [os.path.abspath(NEXT)] * (not is_record):
        own = f"{folder}/{name}-{len(came)}"
        migrated(verdict, name, which, own)
        came[which] = go_on(which, own, kept)
    if is_record:
        write(name, {study: {**of, "steps": came[program][study]} for study, of in kept.items()})
        return
    verdict.check(f"{name}: migrated once more, the same", came[program] == came[os.path.abspath(NEXT)])
    for study, of in kept.items():
        differs = replay.as_text(came[program][study]) != replay.as_text(of["steps"])
        verdict.check(f"{name}: {study} goes on as it was", not differs or platform.machine() != "x86_64",
                      replay.difference(of["steps"], came[program][study]) if differs else "")


def main(arguments):
    top = tempfile.mkdtemp(prefix="gnomon-stores-")
    os.environ.update(replay.PLAIN)
    verdict = harness.Verdict()
    try:
        if arguments == ["--make"]:
            return make(top + "/data")
        names = sorted(file[:3] for file in os.listdir(STORES) if file.endswith(".db"))
        wanted = sorted(file[:3] for file in os.listdir(os.path.join(STORES, "../../../db/migrations")) if file.endswith(".sql"))
        verdict.check("there is a store of every schema", names == wanted, " ".join(set(wanted) - set(names)))
        for name in names:
            test_one(verdict, name, top, arguments == ["--record"])
        return verdict.end()
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
