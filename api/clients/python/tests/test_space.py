"""Spaces in plain Python: what is sent, and that values come back as the objects that were given."""
import random
import unittest

import numpy

import gnomon
from gnomon.space import Space, metric_list
from tests.support import Case, service


class Declared(unittest.TestCase):
    def declared(self, given):
        return Space({"p": given}).declared()[0]

    def test_plain(self):
        for given, wanted in (
                ((1e-5, 0.1, "log"), {"type": "double", "min": 1e-5, "max": 0.1, "scale": "log"}),
                ((1, 6), {"type": "int", "min": 1, "max": 6}),
                ((1, 6.5), {"type": "double", "min": 1, "max": 6.5}),
                ((numpy.int64(2), numpy.int64(9)), {"type": "int", "min": 2, "max": 9}),
                (range(16, 65, 16), {"type": "int", "min": 16, "max": 64, "step": 16}),
                (range(9, 2, -3), {"type": "int", "min": 3, "max": 9, "step": 3}),
                ((0, 97, 10), {"type": "int", "min": 0, "max": 97, "step": 10}),
                ((0, 1, 0.05), {"type": "double", "min": 0, "max": 1, "step": 0.05}),
                (range(3, 4), {"type": "discrete", "values": [3]}),
                ([16, 32.5], {"type": "discrete", "values": [16, 32.5]}),
                (["adam", None, True], {"type": "categorical", "values": ["adam", None, True]}),
                ([len, (1, 2)], {"type": "categorical", "values": ["len", "(1, 2)"]}),
                ([1, "1", True], {"type": "categorical", "values": [1, "1", True]}),
                ({"sgd", "adam", "lion"}, {"type": "categorical", "values": ["adam", "lion", "sgd"]}),
                ("adam", {"type": "categorical", "values": ["adam"]}), (3, {"type": "discrete", "values": [3]}),
                ({"type": "double", "min": 0, "max": 1, "unit": "kW"}, {"type": "double", "min": 0, "max": 1, "unit": "kW"}),
                ({"is": (0.0, 1.0), "default": 0.5, "when": {"q": ["a"], "r": "b"}, "description": "d"},
                 {"type": "double", "min": 0.0, "max": 1.0, "default": 0.5, "when": {"q": ["a"], "r": ["b"]}, "description": "d"})):
            with self.subTest(given=given):
                self.assertEqual(self.declared(given), {"name": "p", **wanted})

    def test_values_of_replies(self):
        space = Space({"x": (-1.0, 2.0), "n": (1, 9), "d": [8, 16], "c": ["adam", None, True], "p": {"type": "vector"}})
        for point in ({"x": 2, "n": 3.0, "d": 16.0, "c": None}, {"x": -0.5, "c": True}, {}):
            self.assertIsNone(space.misfit(point))
        for name, value in (("x", 2.385), ("x", "1"), ("x", True), ("n", 2.5), ("n", 10), ("d", 9), ("d", "8"), ("c", "x; id"),
                            ("c", 1), ("c", ["adam"]), ("c", {}), ("p", 1), ("other", 1), ("x", float("nan"))):
            with self.subTest(name=name, value=value):
                self.assertEqual(space.misfit({name: value}), name)

    def test_refused(self):
        for given in ((1,), (1, 2, "log", 3), ("a", "b"), {"when": {}}, [len, len], [float("nan"), "nan"]):
            with self.subTest(given=given), self.assertRaisesRegex(ValueError, "'p'"):
                self.declared(given)

    def test_not_finite(self):
        for given in ((0.0, float("inf")), (float("nan"), 1.0), [1.0, float("nan")], [float("inf"), 2]):
            with self.subTest(given=given), self.assertRaisesRegex(ValueError, r"space\['p'\]: .*finit"):
                self.declared(given)

    def test_no_dict(self):
        for given in ([("x", (0.0, 1.0))], (0, 1), "x"):
            with self.assertRaisesRegex(TypeError, "a space is a dict"):
                Space(given)

    def test_condition_on_objects(self):
        space = Space({"f": [len, abs], "n": {"is": (1, 3), "when": {"f": [abs]}}, "m": {"is": (1, 3), "when": {"z": [1]}}})
        self.assertEqual(space.declared()[1]["when"], {"f": ["abs"]})
        space = Space({"f": [len, abs], "k": (1, 9), "n": {"is": (1, 3), "when": [{"f": {"not": abs}, "k": {"min": 3}}, {"k": 1}]}})
        self.assertEqual(space.declared()[2]["when"], [{"f": {"not": ["abs"]}, "k": {"min": 3}}, {"k": [1]}])

    def test_forbidden(self):
        study = service().study(self.id(), {"f": [len, abs], "x": (0.0, 1.0)}, trials=8, forbid=[{"f": abs, "x": {"min": 0.25}}])
        study.optimize(lambda t: t["x"] + (t["f"] is len))
        self.assertEqual(study["space"]["forbid"], [{"f": ["abs"], "x": {"min": 0.25}}])
        self.assertTrue(all(t.params["f"] is len or t.params["x"] < 0.25 for t in study.trials()))
        self.assertEqual(service().study(self.id(), {"f": [len, abs], "x": (0.0, 1.0)}, forbid=[{"f": abs, "x": {"min": 0.25}}]).id, study.id)

    def test_metrics(self):
        self.assertEqual(metric_list({"a": "maximize", "b": {"max": 3}, "c": "track"}),
                         [{"name": "a", "goal": "maximize"}, {"name": "b", "goal": "constrain", "max": 3},
                          {"name": "c", "goal": "track"}])
        self.assertEqual(metric_list([{"name": "a", "goal": "minimize"}]), [{"name": "a", "goal": "minimize"}])
        for wrong in (["a", "b"], "a"):
            with self.assertRaisesRegex(ValueError, "metrics have their goals beside them"):
                metric_list(wrong)


class RoundTrip(Case):
    def test_choices_come_back(self):
        """Any mixture of what JSON can say and cannot: what is asked for is one of the objects, of its type."""
        draw = random.Random(2385)
        pool = [1, 1.0, "1", True, 0, 0.0, False, None, "None", len, "a b", 2.5, -7, "é", (1, 2), "x" * 256]
        for turn in range(12):
            items = draw.sample(pool, draw.randint(1, 6))
            if all(type(i) in (int, float) for i in items) and len(set(items)) < len(items):
                continue
            study = service().study(f"{self.id()} {turn}", {"c": items, "y": (0.0, 1.0)}, trials=9, seed=turn, algorithm="random")
            with self.subTest(items=items):
                for trial in study:
                    self.assertTrue(any(type(trial["c"]) is type(i) and trial["c"] == i for i in items), trial["c"])
                    trial.tell(0.0)
                for trial in study.trials():
                    self.assertTrue(any(type(trial.params["c"]) is type(i) and trial.params["c"] == i for i in items))

    def test_numbers_keep_their_type(self):
        study = self.study({"i": (1, 9), "d": (1.0, 9.0), "l": [16, 32, 64], "s": range(0, 9, 4), "k": 7, "n": numpy.float64(2.5)})
        trial = study.ask()
        self.assertEqual([type(trial[name]) for name in ("i", "d", "l", "s", "k", "n")], [int, float, int, int, int, float])
        self.assertEqual((trial["k"], trial["n"]), (7, 2.5))
        trial.tell(1)

    def test_refusal_names_the_parameter(self):
        with self.assertRaisesRegex(gnomon.Refused, r'^[a-z_]+: space\["lr"\]\["max"\]: max must be') as caught:
            self.study({"n": (1, 2), "lr": (3.0, 1.0)})
        self.assertEqual((caught.exception.status, caught.exception.code), (422, "empty_range"))
        self.assertTrue(caught.exception.request_id)


if __name__ == "__main__":
    unittest.main()
