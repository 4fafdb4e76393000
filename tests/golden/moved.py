"""Every recorded study, moved to another server in the middle of its run, goes on bit for bit as if it had stayed.

usage: GNOMON=build/gnomon python3 moved.py [NAME...]

The steps are those of replay.json.  After a third of them each study is exported, with whatever is running or queued, and
imported into another store, which takes the next third; then it comes back.  A federation does not move with its agents,
so there are copies of one.  At the end there must have
been a study of every algorithm that the program has.
"""
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay  # noqa: E402
from replay import harness  # noqa: E402


class Place:
    """A server with a store of its own."""

    def __init__(self, folder, name):
        self.server = harness.Server(os.path.join(folder, name), arguments=["--synchronous", "OFF", "--compute-ms", "0"])
        self.server.start()
        self.api = harness.Api(self.server.port, self.server.token("admin"))

    def export(self, path):
        status, text = self.api.call("GET", f"/v1/{path}/export")
        assert status == 200, text
        return text

    def bring(self, text):
        made = self.api.expect(201, "PUT", "/v1/imports/" + hashlib.sha256(text).hexdigest(), text, kind="application/x-ndjson")
        return made["study"] or made["game"]


class Mover:
    """Takes steps where its things are."""

    def __init__(self, here, there, folder):
        self.places, self.folder = [here, there], folder
        self.service = replay.Service(here.server, here.api, folder)
        self.matrices, self.algorithms = {}, set()

    def __getattr__(self, verb):
        def step(*arguments):
            if verb == "rows":
                self.matrices[arguments[0]] = arguments[1:]
            if verb == "study":
                self.algorithms.add(arguments[1]["algorithm"]["name"])
            return getattr(self.service, verb)(*arguments)
        return step

    def move(self):
        here, there = self.places
        self.places = [there, here]
        self.service.server, self.service.api = there.server, there.api
        for name, real in list(self.service.ids.items()):
            kind = {"std": "studies", "gam": "games"}.get(real[:3])
            if kind is not None:
                self.service.ids[name] = there.bring(here.export(f"{kind}/{real}"))
            if name in self.matrices:
                self.service.rows(name, *self.matrices[name])


def moved(mover, steps):
    """What differs first, or None."""
    third = max(len(steps) // 3, 2)
    for first in (0, third, 2 * third):
        if first > 0:
            mover.move()
        found = replay.replay(mover, steps[first:first + third] if first < 2 * third else steps[first:])
        if found is not None:
            return f"from step {first + 1}: {found}"
    return None


def agree(service, here, there, text):
    """Copies of study $s in both places, and what one of them suggests that the study does not, or None."""
    copies = [(place, place.bring(text)) for place in (here, there)]
    for _ in range(4):
        came = service.suggest("$s", {})
        value = {"observations": [replay.told(replay.waves, number, point) for number, point, *_ in came]}
        service.observe("$s", *value["observations"])
        for place, copy in copies:
            own = [[trial["number"], *replay.proposal(trial)] for trial in
                   place.api.expect(200, "POST", f"/v1/studies/{copy}/suggest", {})["trials"]]
            if replay.as_text(own) != replay.as_text(came):
                return copies, f"a copy says {own}, the study {came}"
            place.api.expect(200, "POST", f"/v1/studies/{copy}/observe", value)
    return copies, None


def stays(here, there, algorithm):
    """A federation does not move: of a study that is its agent there is a copy on either server, with what it was sent, and
    all three suggest the same for as long as the study is sent nothing new.  The copies send nothing."""
    more = {"privacy": replay.BUDGET} if algorithm == "dp-fts-de" else {}
    service = replay.Service(here.server, here.api, os.path.dirname(here.server.folder))
    service.federation("$f", {**replay.FEDERATION, "seats": 2, "rounds": 9, "round_seconds": 600000, "minimum_agents": 2, **more,
                              "algorithm": {"name": algorithm, "features": 12, "features_seed": 71, "initial": 3,
                                            **({"regions": 2} if more else {})}}, 1)
    service.study("$s", replay.study(replay.UP, replay.FEDERATION["space"], 23, algorithm, federation="$f"))
    for i in range(8):
        replay.run(service, 1, replay.waves)
        if 3 <= i < 6:
            service.message("$f", i - 2, 1, [round(2 * v - 1, 4) for v in replay.draw(100 + i, 1, 12)[0]])
    text = here.export(f"studies/{service.ids['$s']}")
    copies, found = agree(service, here, there, text)
    if found is not None:
        return found
    service.message("$f", 4, 1, [0.125] * 12)  # with which the round is closed
    for _ in range(2):
        here.api.expect(200, "POST", f"/v1/studies/{copies[0][1]}/suggest", {})
    after = here.api.get(f"/v1/federations/{service.ids['$f']}")
    if (after["round"], after["received"]) != (5, 0) or here.export(f"studies/{copies[0][1]}").count(b'"npy":') != 3:
        return f"a copy takes part: {after}"
    taken = text.count(b'"npy":')
    return None if taken == 3 else f"{taken} rounds were taken along"


def stays_with_release(here, there):
    """A study that was sent the one release of rank-mean: its copies go on with it, and the federation is over."""
    service = replay.Service(here.server, here.api, os.path.dirname(here.server.folder))
    service.federation("$f", {**replay.FEDERATION, "seats": 2, "rounds": 1, "round_seconds": 600000,
                              "privacy": {"epsilon": 3, "delta": 0.00001},
                              "algorithm": {"name": "rank-mean", "features": 12, "initial": 4, "accept_noise": True}}, 1)
    service.study("$s", replay.study(replay.UP, replay.FEDERATION["space"], 23, "rank-mean", federation="$f"))
    service.message("$f", 1, 1, [0.25] * 12)
    for _ in range(6):
        replay.run(service, 1, replay.waves)
    text = here.export(f"studies/{service.ids['$s']}")
    if text.count(b'"npy":') != 1:
        return f"other than one release was taken along"
    return agree(service, here, there, text)[1]


def main(names):
    if platform.machine() != "x86_64":
        print(f"SKIPPED: the recording is of x86-64, this is {platform.machine()}; its bits can differ without a mistake")
        return 0
    folder = tempfile.mkdtemp(prefix="gnomon-moved-")
    os.environ.update(replay.PLAIN)
    places = [Place(folder, "here"), Place(folder, "there")]
    studies = json.load(open(replay.FILE))["studies"]
    verdict, algorithms = harness.Verdict(), set()
    try:
        for name in names or studies:
            verbs = {step[0] for step in studies[name]}
            if not verbs & {"study", "game"} or "federation" in verbs:
                continue
            mover = Mover(*places, folder)
            found = moved(mover, studies[name])
            verdict.check(name, found is None, found or "")
            algorithms |= mover.algorithms
        for algorithm in () if names else ("fts", "dp-fts-de"):
            found = stays(*places, algorithm)
            verdict.check(f"{algorithm}, copies of an agent", found is None, found or "")
            algorithms.add(algorithm)
        if not names:
            found = stays_with_release(*places)
            verdict.check("rank-mean, copies of a member", found is None, found or "")
            algorithms.add("rank-mean")
        known = {policy["name"] for policy in places[0].api.get("/v1/meta")["algorithms"]}
        verdict.check("every algorithm has moved", bool(names) or algorithms == known, known ^ algorithms)
        return verdict.end() or max(place.server.stop() for place in places)
    except Exception:
        for place in places:
            print(open(place.server.folder + ".log").read()[-2000:])
        raise
    finally:
        for place in places:
            if place.server.process and place.server.process.poll() is None:
                place.server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
