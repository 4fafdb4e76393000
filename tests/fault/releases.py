"""Private releases under fire: a curator's signed matrices are declared and uploaded by several clients at once, each perhaps to
several servers, and the rows that are asked for are answered.  Then each matrix was taken once, and nothing of it is lost."""
import json
import math
import os
import subprocess
import threading
import time

from harness import GNOMON
from scenes import Caller, replay, verdict

RELEASES, ANSWERS = 4, 12  # of one table, within its budget; rows of each study that are asked for
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/housing/housing_2000.csv")
SQL = "SELECT ledger, seq, count(DISTINCT sha256), count(*) FROM curator_ledger WHERE sha256 IS NOT NULL GROUP BY ledger, seq"


def tool(folder, *arguments):
    return subprocess.run([os.path.abspath(GNOMON), *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class Release:
    """What the curator has of one: the manifest and the matrix."""

    def __init__(self, folder, number):
        name = f"z{number}"
        tool(folder, "project", "--in", "t.csv", "--columns", "longitude,latitude", "--key", "c.key", "--protect",
            "longitude=0.32,latitude=0.32", "--region", "longitude=-125:-114,latitude=32:42.5", "--epsilon", "1",
            "--out", f"{name}.npy")
        with open(f"{folder}/{name}.json", encoding="ascii") as file:
            self.manifest = json.load(file)
        with open(f"{folder}/{name}.npy", "rb") as file:
            self.matrix = file.read()


class Private:
    """A study over a release.  uploaded: by whom it was acknowledged; rows, values: what was, by trial."""

    def __init__(self, client, release, key, seed):
        self.release, self.lock, self.is_over = release, threading.Lock(), False
        self.body = {"name": f"private {seed}", "seed": seed, "metrics": [{"name": "y", "goal": "maximize"}],
                     "algorithm": {"name": "po-gp-ucb"},
                     "space": {"type": "candidates", "rows": release.manifest["rows"], "private": True, "curator_key": key,
                               "columns": release.manifest["columns"]}}
        self.path = f"/v1/studies/{client.post('/v1/studies', self.body, 201)['id']}"
        self.uploaded, self.rows, self.values = set(), {}, {}


class Curator:
    def __init__(self, folder):
        os.mkdir(folder)
        with open(TABLE, encoding="ascii") as table, open(f"{folder}/t.csv", "w", encoding="ascii") as own:
            own.writelines(table.readlines()[:61])
        self.key = tool(folder, "key", "--out", "c.key")
        self.releases, self.studies = [Release(folder, n) for n in range(RELEASES)], []

    def begin(self, client):
        n = len(self.studies)
        self.studies.append(Private(client, self.releases[n % RELEASES], self.key, n))


class Uploader(Caller):
    """Declares and uploads what the study has perhaps already from another one, then answers what is asked for."""

    def upload(self, study):
        status, reply = self.ask("POST", f"{study.path}/candidates", study.release.manifest)
        verdict.check(status in (200, 201), f"a manifest: {status} {reply}")
        status, reply = self.ask("PUT", f"{study.path}/candidates", study.release.matrix,
                                 "Content-Type: application/x-npy\r\n")
        verdict.check(status == 200 or (status == 409 and reply["code"] == "candidates_complete"), f"a matrix: {status} {reply}")
        study.uploaded.add(self.number)

    def work(self):
        study = self.cluster.curator.studies[-1]
        if study.is_over:
            return time.sleep(0.05)
        if self.number not in study.uploaded:
            self.upload(study)
        status, reply = self.ask("POST", f"{study.path}/suggest", {"worker": f"curator-{self.number}"})
        verdict.check(status == 200, f"a private suggestion: {status} {reply}")
        trial = reply["trials"][0]
        number, row, value = trial["number"], trial["candidate"], math.sin(trial["candidate"])
        with study.lock:
            first = study.rows.setdefault(number, row)
        verdict.check(first == row, f"trial {number} of {study.path}: candidate {first} became {row}")
        status, reply = self.ask("POST", f"{study.path}/observe", {"trial": number, "value": value})
        verdict.check(status == 200, f"an answer: {status} {reply}")
        with study.lock:
            study.values[number] = value
            study.is_over = len(study.values) >= ANSWERS
        time.sleep(self.random.uniform(0, 0.1))


def check_releases(cluster, client, other):
    """How many suggestions were compared."""
    known = [line.split("|") for line in cluster.postgres.ask(cluster.sql + SQL).splitlines()]
    verdict.check(known and all(distinct == "1" for _, _, distinct, _ in known), f"lines of the ledger: {known}")
    taken = {study.release.manifest["ledger"]["seq"] for study in cluster.curator.studies if study.uploaded}
    verdict.check(taken <= {int(seq) for _, seq, _, _ in known}, f"releases {taken}, lines {known}")
    for study in cluster.curator.studies:
        if not study.uploaded:
            continue
        export = client.get(f"{study.path}/export?format=json")
        trials = {trial["number"]: trial for trial in export["trials"]}
        wrong = [n for n, row in study.rows.items() if n not in trials or trials[n]["candidate"] != row]
        wrong += [n for n, value in study.values.items() if n not in trials or trials[n]["value"] != value]
        verdict.check(not wrong, f"{study.path}: trials {wrong} are not as they were acknowledged")
        given = [trial["candidate"] for trial in export["trials"]]
        verdict.check(len(given) == len(set(given)), f"{study.path}: a row was asked for twice")

        def declare(path, release=study.release):
            other.expect(201, "POST", f"{path}/candidates", release.manifest)
            status, reply = other.call("PUT", f"{path}/candidates", release.matrix, "Content-Type: application/x-npy\r\n")
            verdict.check(status == 200, f"a matrix: {status} {reply}")

        _, differ = replay(other, export, declare, "candidate")
        verdict.check(not differ, f"{study.path}: {differ[:1]} of {len(differ)}")
    return sum(len(study.rows) for study in cluster.curator.studies)
