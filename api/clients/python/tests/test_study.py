"""Studies and trials against the service: how they end, what is refused, leases, pruning, several metrics."""
import copy
import threading
import unittest
import warnings
from unittest import mock

import numpy

import gnomon
from gnomon import lease
from gnomon import study as module
from tests.support import Case, branin, service


class Studies(Case):
    def test_get_or_create(self):
        first = self.study(trials=5, labels={"team": "vision"}, notes="n", target=0.4, lease=60)
        again = self.study(trials=5)
        self.assertEqual((first.id, again["labels"], again["lease_seconds"]), (again.id, {"team": "vision"}, 60))
        self.assertEqual(service().study(self.id()).id, first.id)
        self.assertEqual((service().open(first.id).name, service().open(first.id)["notes"]), (self.id(), "n"))
        with self.assertRaises(gnomon.NotFound):
            service().open("std_aaaaaaaaaaaaaaaa")
        self.assertEqual(first["stop_when"], {"better_than": 0.4})
        with self.assertRaises(gnomon.SpaceDiffers) as caught:
            self.study({"x": (-5.0, 11.0), "y": (0.0, 15.0)})
        self.assertIn('space["x"]["max"]', str(caught.exception))
        self.assertIn(first.id, [one.id for one in service().studies(name=self.id(), label="team:vision")])
        self.assertIn(f"{service().url}/#/studies/{first.id}", repr(first))
        self.assertEqual(copy.deepcopy(service()), service())

    def test_mistakes_that_people_make(self):
        study = self.study({"learning_rate": (0.0, 1.0), "depth": (1, 4)}, trials=5)
        with self.assertRaisesRegex(ValueError, "several objectives are metrics="):
            service().study("two", {"x": (0.0, 1.0)}, goal=["minimize", "maximize"])
        for value, why in ((None, "returned None, and not a number"), ("0.5", "returned '0.5', and not a number")):
            with self.assertRaisesRegex(ValueError, why):
                study.result(value)
        trial = study.ask()
        with self.assertRaisesRegex(KeyError, "which has learning_rate, depth; did you mean learning_rate?"):
            trial["leraning_rate"]
        self.assertIsNone(trial.get("momentum"))
        trial.tell(1.0)
        with self.assertLogs("gnomon", "WARNING") as said:
            self.study({"learning_rate": (0.0, 1.0), "depth": (1, 4)}, trials=8)
        self.assertIn("keeps its budget of {'trials': 5}, not {'trials': 8}: to change it, study.edit(", said.output[0])
        with self.assertRaises(gnomon.Refused):
            study.tell({"learning_rate": 1.5, "depth": 2}, 2.0)
        study.tell({"learning_rate": 1.5, "depth": 2}, -2.0, outside=True)
        self.assertEqual((study.refresh()["trials"]["completed"], study.best.value), (2, 1.0))

    def test_options_that_people_bring(self):
        study = self.study({"x": (0.0, 1.0)}, trials=5)
        for call, why in (
                (lambda: study.optimize(abs, n_trials=5), "Study.optimize has no option n_trials; did you mean trials?"),
                (lambda: study.optimize(abs, n_jobs=5), "Study.optimize has no option n_jobs; did you mean workers?"),
                (lambda: study.optimize(abs, worker=5), "Study.optimize has no option worker; did you mean workers?"),
                (lambda: study.optimize(abs, gc_after_trial=True), "Study.optimize has no option gc_after_trial; it has f, trials, workers, "
                 "backend, catch, timeout, callbacks, progress"),
                (lambda: study.tell({"x": 0.5}, 1, sem=0.1), "Study.tell has no option sem; did you mean stddev?"),
                (lambda: study.ask(fixed_params={"x": 1}), "Study.ask has no option fixed_params; did you mean fixed?"),
                (lambda: study.enqueue({"x": 0.5}, filling="default"), "Study.enqueue has no option filling; did you mean fill?"),
                (lambda: study.pause(reason="lunch"), "Study.pause has no option reason; it has none"),
                (lambda: study.ask().suggest_float("x", 0, 1, q=0.1), "Trial.suggest_float has no option q; did you mean step?"),
                (lambda: service().study("s", {"x": (0, 1)}, n_trials=5), "Client.study has no option n_trials; did you mean trials?"),
                (lambda: service().study("s", {"x": (0, 1)}, direction="minimize"), "Client.study has no option direction; did you mean goal?"),
                (lambda: service().study("s", {"x": (0, 1)}, n_startup_trials=5), 'did you mean algorithm={"initial": ...}?'),
                (lambda: gnomon.Client("http://127.0.0.1:1", "t", timeout=5), "Client has no option timeout; did you mean patience?"),
                (lambda: gnomon.connect(host="http://127.0.0.1:1"), "connect has no option host; it has url, token, patience, ca"),
                (lambda: gnomon.connect(storage="sqlite://"), "connect has no option storage; did you mean url?")):
            with self.assertRaises(TypeError) as told:
                call()
            self.assertIn(why, str(told.exception))
        study.grow(seed={"is": (0, 1), "default": 0})  # names of parameters are anybody's
        self.assertIn("seed", [one["name"] for one in study["space"]["parameters"]])
        with self.assertRaisesRegex(gnomon.Refused, "leese_seconds.*did you mean lease_seconds"):
            study.edit(leese_seconds=60)

    def test_name_in_an_address(self):
        for name in (".", "..", ""):
            with self.assertRaisesRegex(ValueError, "name"):
                service().study(name, {"x": (0.0, 1.0)})

        for name in (7, None):
            with self.assertRaisesRegex(TypeError, "name is a text"):
                service().study(name, {"x": (0.0, 1.0)})

    def test_numbers_of_numpy(self):
        study = service().study(self.id(), {"x": (numpy.float32(0.5), numpy.float64(1.5)), "k": numpy.array([2, 3]), "c": numpy.int64(4)},
                                trials=numpy.int64(5), seed=numpy.int32(7), target=numpy.float32(0.5), algorithm="random")
        self.assertEqual((study["budget"]["trials"], study["seed"], study["stop_when"]), (5, 7, {"better_than": 0.5}))
        study.tell({"x": numpy.float32(0.75), "k": numpy.int64(3), "c": numpy.int8(4)}, numpy.float32(2.5))
        study.optimize(lambda t: numpy.array([t["k"]]), trials=numpy.int64(2))
        self.assertEqual([t.value for t in study.trials()][0], 2.5)
        self.assertEqual({t["params"]["c"] for t in study.trials()}, {4})
        self.assertTrue(all(type(t["params"]["k"]) is int and t["params"]["k"] in (2, 3) for t in study.trials()))
        with self.assertRaisesRegex(ValueError, 'better_than'):
            service().study(self.id() + " nan", {"x": (0.0, 1.0)}, target=float("nan"))

    def test_several_of_one_name(self):
        study = self.study()
        service().call("POST", f"/v1/studies/{study.id}/clone", {"name": self.id()})
        with self.assertRaisesRegex(gnomon.Conflict, "ambiguous"):
            service().study(self.id())

    def test_life(self):
        study = self.study(trials=3)
        study.pause()
        with self.assertRaises(gnomon.Paused):
            study.ask(wait=False)
        study.resume()
        numbers = study.enqueue({"x": 1.0, "y": 2.0}, {"x": 3.0}, fill="algorithm")
        self.assertEqual(numbers, [1, 2])
        study.edit(budget={"trials": 4}, notes="more")
        first, second = study.ask_many(2)
        self.assertEqual((dict(first), second["x"]), ({"x": 1.0, "y": 2.0}, 3.0))
        first.tell(3.5, stddev=0.1, labels={"a": "b"})
        second.infeasible("no room")
        study.tell({"x": 0, "y": 0}, 9.5, id="run 1")
        study.tell({"x": 0, "y": 0}, 9.5, id="run 1")
        self.assertEqual(self.states(study), ["completed", "infeasible", "completed"])
        self.assertEqual((study.best.value, study.best.params, study.best.labels), (3.5, {"x": 1.0, "y": 2.0}, {"a": "b"}))
        study.complete()
        with self.assertRaises(gnomon.Finished):
            study.ask()
        self.assertEqual(list(study), [])
        study.reopen()
        self.assertEqual((study.state, study.refresh()["notes"]), ("active", "more"))
        study.delete()
        with self.assertRaises(gnomon.NotFound):
            study.refresh()

    def test_fixed_and_model(self):
        study = self.study({"x": (-5.0, 10.0), "y": (0.0, 15.0), "k": [len, None]}, algorithm="gp")
        for _ in range(6):
            trial = study.ask(fixed={"k": len})
            self.assertIs(trial["k"], len)
            trial.tell(branin(trial["x"], trial["y"]))
        says = study.predict([{"x": 1.0, "y": 2.0, "k": len}])[0]
        self.assertGreater(says.stddev_observed, 0)
        shares = [row.total for row in study.importances()]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertEqual(study.grows, False)
        study.grow(x=(-6.0, 10.0), z={"is": (0.0, 1.0), "default": 0.5})
        self.assertEqual(list(study.space.kinds), ["x", "y", "k", "z"])
        self.assertEqual([t.params["z"] for t in study.trials(limit=None)], [0.5] * 6)

    def test_learns_from_another(self):
        earlier = self.study()
        for x in range(5):
            earlier.tell({"x": float(x), "y": 1.0}, branin(x, 1.0))
        later = service().study(self.id() + " later", {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, learn_from=[earlier])
        self.assertEqual(later["algorithm"]["name"], "transfer")
        later = service().study(self.id() + " auto", {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, learn_from="auto")
        self.assertEqual(later["algorithm"]["meta"], "auto")
        self.assertGreater(len(later["algorithm"]["earlier_studies"]), 0)

    def test_values(self):
        study = self.study(metrics={"loss": "minimize", "memory": {"max": 9}, "seconds": "track"}, algorithm="gp")
        for given, wanted in (({"loss": 1, "memory": 2.5}, {"loss": 1, "memory": 2.5}), ((1, 2, 3), {"loss": 1, "memory": 2, "seconds": 3})):
            trial = study.ask()
            trial.tell(given)
            self.assertEqual(study._get(f"/trials/{trial.number}")["values"], wanted)
        tracked = service().study(self.id() + " tracked", {"z": (0.0, 1.0)}, metrics={"a": "maximize", "b": "track"},
                                  constraints=[{"coefficients": {"z": 1}, "max": 0.75}])
        tracked.ask().tell(0.5)
        self.assertEqual(tracked.best.value, 0.5)
        self.assertEqual(tracked["space"]["constraints"], [{"coefficients": {"z": 1}, "max": 0.75}])
        trial = study.ask()
        for wrong in (None, "x", b"abc", (1, 2), float("nan"), {"loss": float("inf"), "memory": 1}, object()):
            with self.assertRaises(ValueError):
                trial.tell(wrong)
        with self.assertRaises(gnomon.Refused):  # refused by the service: the trial is still held
            trial.tell({"loss": 1.0, "unheard": 2.0})
        trial.tell({"loss": 1.0, "memory": 2.0, "seconds": None})
        self.assertEqual(len(study.front), 1)
        aimed = service().study(self.id() + " aimed", {"x": (0.0, 1.0)}, trials=12, goal={"target": 0.625})
        aimed.optimize(lambda trial: trial["x"] ** 2)
        self.assertLess(abs(aimed.best.value - 0.625), 1e-3)
        landed = service().study(self.id() + " landed", {"x": (0.0, 1.0)}, metrics={"a": {"range": (0.25, 0.5)}, "b": {"max": 1}})
        self.assertEqual([metric["goal"] for metric in landed["metrics"]], ["range", "constrain"])
        two = service().study(self.id() + " two", {"x": (0.0, 1.0)}, metrics={"a": "minimize", "b": "maximize"})
        with self.assertRaisesRegex(ValueError, "use study.front"):
            two.best


class Trials(Case):
    def test_ends_of_a_block(self):
        study = self.study()
        with study.ask() as trial:
            trial.tell(1.5)
        with self.assertRaises(ZeroDivisionError), study.ask():
            1 / 0
        with self.assertRaises(OSError), study.ask() as odd:
            raise OSError("\udc80\0" + "é" * 2000)  # as os.fsdecode makes of a file's name
        with self.assertWarnsRegex(UserWarning, "without a result"), study.ask():
            pass
        with self.assertRaises(KeyboardInterrupt), study.ask():
            raise KeyboardInterrupt
        with study.ask():
            raise gnomon.Pruned("enough")
        with self.assertRaises(SystemExit), study.ask():
            raise SystemExit
        got = [(trial.state, trial.reason) for trial in study.trials()]
        self.assertEqual(got, [("completed", None), ("failed", "ZeroDivisionError: division by zero"),
                               ("failed", ("OSError: ? " + "é" * 2000)[:1000]), ("failed", "no value"),
                               ("failed", "enough"), ("queued", None)])
        self.assertEqual(repr(trial)[:15], "<gnomon trial 1")
        self.assertTrue(trial == trial and trial != study.ask() and len({trial}) == 1)

    def test_half_a_character(self):
        study = self.study()
        for call in (lambda: service().study("a\udc80", {"x": (0.0, 1.0)}), lambda: service().study("a\udc80"),
                     lambda: self.study({"x\udc80": (0.0, 1.0)}), lambda: self.study({"x": ["a", "\udc80"]}),
                     lambda: study.edit(notes="\udc80"), lambda: study.ask(worker="\udc80"),
                     lambda: list(study.trials(worker="\udc80")), lambda: list(service().studies(name_contains="\udc80"))):
            with self.assertRaisesRegex(ValueError, "no text: .*lone surrogate"):
                call()
        study.edit(notes="\U0001d6fc and é")
        self.assertEqual(study["notes"], "\U0001d6fc and é")

    def test_ends_once(self):
        study = self.study()
        trial = study.ask()
        trial.tell(1.0)
        for again in (lambda: trial.tell(2.0), lambda: trial.fail("x"), trial.give_back, lambda: trial.report(1, 1.0)):
            with self.assertRaises(gnomon.LeaseLost):
                again()
        self.assertIsNone(trial.beat())
        self.assertEqual(self.states(study), ["completed"])

    def test_two_at_once_are_two(self):
        study = self.study()
        first, second, *more = study.ask(), study.ask(), *study.ask_many(2)
        self.assertEqual(len({first.number, second.number, *[t.number for t in more]}), 4)
        more[0].tell(1.0)
        third = study.ask()
        self.assertNotIn(third.number, (first.number, second.number, more[1].number))
        first.tell(1.0)
        self.assertNotEqual(study.ask().number, second.number)
        named = study.ask(worker="me")
        self.assertEqual(study.ask(worker="me").number, named.number)

    def test_lease_lost(self):
        study = self.study(lease=1)
        with mock.patch.object(gnomon.study.HEART, "hold"):  # a worker that stands still
            trial = study.ask()
        study.edit(budget={"trials": 1})  # so that there is nothing else to be had
        other = study.ask()
        self.assertEqual((other.number, dict(other)), (trial.number, dict(trial)))
        self.assertIsNone(trial.beat())
        self.assertTrue(trial.lost)
        with self.assertRaises(gnomon.LeaseLost), trial:
            trial.report(1, 1.0)
        with self.assertRaises(gnomon.LeaseLost):
            trial.tell(1.0)
        other.tell(2.0)
        self.assertEqual([t.value for t in study.trials()], [2.0])

    def test_heartbeats(self):
        """A lease of a second is kept for as long as the trial runs, by one thread for all trials."""
        study = self.study(lease=1)
        first, second = study.ask_many(2)
        beats = []
        beat = first.beat
        first.beat = lambda: beats.append(1) or beat()
        self.wait_for(lambda: len(beats) >= 4)
        self.assertEqual(sum(t.name == "gnomon heartbeats" for t in threading.enumerate()), 1)
        self.assertEqual([t.lease["id"] for t in study.trials()], [first._lease, second._lease])
        first.tell(1.0)
        second.tell(1.0)
        self.assertEqual(self.states(study), ["completed", "completed"])

    def test_heartbeat_without_service(self):
        trial = self.study().ask()
        with mock.patch.object(trial.study.client.transport, "call", side_effect=gnomon.Unavailable(599, {})):
            self.assertEqual(trial.beat(), 5.0)
            with self.assertRaises(gnomon.Unavailable):
                trial.tell(1.0)
        self.assertEqual(trial.state, "running")
        trial.tell(1.0)

    def test_interrupted_without_service(self):
        """Ctrl-C stays Ctrl-C; and a heartbeat that fails in any way is not the last one."""
        trial = self.study().ask()
        with mock.patch.object(trial.study.client.transport, "call", side_effect=gnomon.Unavailable(599, {})), \
                self.assertLogs("gnomon", "WARNING"), self.assertRaises(KeyboardInterrupt), trial:
            raise KeyboardInterrupt
        beats = []

        def beat():
            beats.append(1)
            if len(beats) == 1:
                raise OSError
            return None

        trial.beat = beat
        with self.assertLogs("gnomon", "ERROR"), mock.patch.object(lease, "AGAIN", 0.01):
            lease.HEART.hold(trial, 0.0)
            self.wait_for(lambda: len(beats) == 2)
        trial.give_back()

    def test_study_ends_meanwhile(self):
        study = self.study(stopping={"rule": "none", "epochs": 9})
        trial = study.ask()
        trial.report(1, 1.0)
        study.complete()
        trial.beat()
        with self.assertRaises(gnomon.Finished), trial:
            trial.report(2, 1.0)
        self.assertEqual(trial.state, "abandoned")

    def test_pruning(self):
        study = self.study(goal="maximize", stopping={"rule": "median", "epochs": 9, "min_trials": 1})
        for value in (5.0, 4.0):
            with study.ask() as trial:
                for step in (1, 2, 3):
                    trial.report(step, value)
                trial.tell(value)
        self.assertEqual((trial.state, trial.reason, trial.value, trial.curve), ("stopped", "below_median", 4.0, [(1, 4.0)]))
        trial = study.ask(worker="mine")
        self.assertTrue(trial.should_stop(1, 1.0))
        again = study.ask(worker="mine")
        self.assertFalse(again.should_stop(1, 6.0))
        resumed = study.ask(worker="mine")
        self.assertFalse(resumed.should_stop(1, 5.9))  # measured under this lease before
        resumed.tell(6.0)
        self.assertEqual(self.states(study), ["completed", "stopped", "stopped", "completed"])

    def test_pruning_by_several(self):
        study = self.study(metrics={"loss": "minimize", "seconds": "minimize"}, stopping={"rule": "asha", "epochs": 9})
        for values in ({"loss": 1.0, "seconds": 2.0}, (1.5, 2.5)):
            with study.ask() as trial:
                trial.report(1, values)
                trial.tell(values)
        self.assertEqual((trial.state, trial.reason, trial.value), ("stopped", "below_top", {"loss": 1.5, "seconds": 2.5}))
        with study.ask(worker="mine") as trial:
            trial.report(1, {"loss": 0.5, "seconds": 1.0})
            self.assertEqual(study.ask(worker="mine").curve, [(1, {"loss": 0.5, "seconds": 1.0})])
            self.assertRaises(ValueError, trial.report, 2, (1.0,))
            trial.tell((0.5, 1.0))

    def test_outside_the_curve_range(self):
        study = self.study(goal="maximize", algorithm={"name": "bo-bos", "epochs": 9})
        with study.ask() as trial:
            with self.assertWarnsRegex(UserWarning, "above_curve_high"):
                trial.report(1, 87.0)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                trial.report(2, 0.87)
            trial.tell(0.9)

    def test_goes_on_with_what_was_stopped(self):
        study = self.study(goal="maximize", stopping={"rule": "asha", "epochs": 9, "resume": True})
        ends = []

        def f(trial):
            ends.append((trial.number, trial.resume))
            for step in range(trial.resume + 1, 10):
                trial.report(step, 0.9 if trial.number in (1, 3) else 0.5 - trial.number / 64)
            return 0.9

        study.optimize(f, trials=11)  # of nine three go on
        self.assertEqual(ends, [(number, 0) for number in range(1, 10)] + [(2, 1), (10, 0)])

    def test_waits_for_what_is_out(self):
        study = self.study(trials=1)
        trial = study.ask()
        got = []
        waiting = threading.Thread(target=lambda: got.append(study.ask()))
        with self.assertLogs("gnomon", "WARNING") as logged, mock.patch.object(module, "WAIT_SECONDS", 1):
            waiting.start()
            self.wait_for(lambda: any("waiting" in line for line in logged.output))
            with self.assertRaises(gnomon.Paused):
                study.ask(wait=1.5)
            self.assertEqual(study.reclaim(), [trial.number])
            waiting.join(60)
        self.assertEqual(len(logged.output), 1)  # whoever waits
        self.assertIn("study.reclaim()", logged.output[0])
        self.assertEqual(got[0].number, trial.number)
        got[0].tell(1.0)

    def test_interrupted_while_asking(self):
        study = self.study()
        call = study.client.transport.call

        def interrupted(method, path, *rest, **more):
            reply = call(method, path, *rest, **more)
            if path.endswith("/suggest"):
                raise KeyboardInterrupt
            return reply

        with mock.patch.object(study.client.transport, "call", interrupted), self.assertRaises(KeyboardInterrupt):
            study.ask()
        self.assertEqual(self.states(study), ["queued"])
        self.assertEqual(study.reclaim("nobody"), [])
        with mock.patch.object(study.client.transport, "call", side_effect=gnomon.Unavailable(599, {})), \
                self.assertLogs("gnomon", "WARNING"):
            self.assertEqual(study.reclaim("nobody"), [])

    def test_record(self):
        record = gnomon.Record({"a": 1, "values": {"v": 3}}, {"x": 2})
        self.assertEqual((record.a, record["a"], record.values, record.get("b", 7)), (1, 1, {"v": 3}, 7))
        self.assertEqual((dict(record), "a" in record), ({"a": 1, "values": {"v": 3}, "params": {"x": 2}}, True))
        with self.assertRaisesRegex(AttributeError, "it has a, values, params"):
            record.b
        with self.assertRaises(AttributeError):
            record.__wrapped__
        self.assertIn("'a': 1", repr(record))


class DefineByRun(Case):
    def run_study(self, f, trials=12, **more):
        study = service().study(self.id(), trials=trials, seed=7, **more)
        study.optimize(f)
        return study

    def test_grows_as_it_runs(self):
        def f(trial):
            x = trial.suggest_float("x", -5, 10)
            kind = trial.suggest_categorical("kind", ["flat", "steep"])
            value = branin(x, trial.suggest_float("y", 1e-3, 15, log=True)) + trial.suggest_int("n", 1, 9, step=4)
            if kind == "steep":
                value += trial.suggest_int("slope", 1, 100, log=True, when={"kind": ["steep"]})
            return value

        study = self.run_study(f)
        self.assertEqual(self.states(study), ["completed"] * 12)
        self.assertEqual([p["name"] for p in study["space"]["parameters"]], ["x", "kind", "y", "n", "slope"])
        self.assertEqual(study["space"]["parameters"][3]["step"], 4)
        for trial in study.trials():
            self.assertEqual("slope" in trial.params, trial.params["kind"] == "steep")
        self.assertEqual(service().study(self.id()).optimize(f, trials=1).id, study.id)

    def test_two_begin_at_once(self):
        first, second = service().study(self.id(), algorithm="random"), service().study(self.id(), algorithm="random")
        one, other = first.ask(), second.ask()
        with self.assertRaises(ValueError):
            one.tell(1.0)
        one.suggest_float("x", 0, 1)
        one.suggest_float("y", 0, 1)
        other.suggest_float("x", 0, 1)
        other.suggest_float("y", 0, 1)
        one.tell(1.0)
        other.tell(2.0)
        self.assertEqual(sorted(t.value for t in first.trials()), [1.0, 2.0])
        self.assertEqual(first.id, second.id)

    def test_without_a_trial(self):
        study = service().study(self.id())
        self.assertIn(self.id(), repr(study))
        with self.assertRaises(gnomon.NotFound):
            study.refresh()
        study.ask().give_back()
        study.ask().fail("nothing was asked for")
        with self.assertRaises(ValueError), study.ask() as trial:
            trial.tell(1.0)

    def test_other_ranges(self):
        trial = self.study({"x": (0.0, 1.0), "n": (1, 3), "c": ["a", "b"]}).ask()
        self.assertEqual(trial.suggest_float("x", 0, 1), trial["x"])
        for wrong in (lambda: trial.suggest_float("x", 2, 3), lambda: trial.suggest_int("n", 7, 9),
                      lambda: trial.suggest_categorical("c", ["d"])):
            with self.assertRaisesRegex(ValueError, "the study has"):
                wrong()
        with self.assertRaises(KeyError):
            trial.suggest_float("unheard", 0, 1)


if __name__ == "__main__":
    unittest.main()
