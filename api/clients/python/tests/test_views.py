"""Tables and plots; what is missing is said."""
import sys
import unittest
from unittest import mock

import matplotlib

import gnomon
from tests.support import Case, branin, service

matplotlib.use("Agg")


class Views(Case):
    def filled(self):
        study = service().study("views", {"x": (-5.0, 10.0), "y": (1e-3, 15.0, "log"), "k": ["a", None], "state": (1, 5)},
                                trials=14, seed=3)
        study.optimize(lambda t: branin(t["x"], t["y"]) + t["state"])
        return study

    def test_table(self):
        study = self.filled()
        rows = study.table()
        self.assertEqual([row["number"] for row in rows], list(range(1, 15)))
        self.assertEqual(rows[0]["value"], branin(rows[0]["x"], rows[0]["y"]) + rows[0]["params_state"])
        self.assertEqual({row["state"] for row in rows}, {"completed"})
        frame = study.dataframe()
        self.assertEqual((len(frame), frame["value"].min()), (14, study.best.value))
        self.assertEqual(str(frame["finished_at"].dtype), "datetime64[ns, UTC]")
        for module, call, words in (("pandas", study.dataframe, "table"), ("matplotlib.pyplot", study.plot, "matplotlib")):
            with mock.patch.dict(sys.modules, {module: None}), self.assertRaisesRegex(ImportError, words):
                call()

    def test_plots(self):
        study = self.filled()
        import matplotlib.pyplot as pyplot
        ax = pyplot.figure().gca()
        self.assertIs(study.plot_history(ax), ax)
        self.assertEqual([line.get_label() for line in ax.lines], ["value", "best so far"])
        self.assertEqual(sorted(ax.lines[0].get_ydata())[0], round(study.best.value, 6) and min(ax.lines[0].get_ydata()))
        self.assertEqual(len(study.plot_importances().patches), 4)
        for name, scale in (("x", "linear"), ("y", "log"), ("k", "linear"), ("state", "linear")):
            self.assertEqual((study.plot_slice(name).get_xscale(), study.plot_slice(name).get_xlabel()), (scale, name))
        self.assertEqual(study.plot_contour("x", "y").get_yscale(), "log")
        self.assertEqual([t.get_text() for t in study.plot_contour("x", "k").get_yticklabels()], ["a", "None"])
        self.assertEqual([t.get_text().split("\n")[1] for t in study.plot_parallel().get_xticklabels()], ["x", "y", "k", "state"])
        with self.assertRaisesRegex(ValueError, "history, importances"):
            study.plot("pie")
        pyplot.close("all")

    def test_slices_of_choices_and_conditions(self):
        study = self.study({"k": ["a", "b"], "depth": {"is": (0.0, 1.0), "when": {"k": ["b"]}}}, algorithm="gp")
        for n in range(6):
            study.tell({"k": "a"}, float(n))
            study.tell({"k": "b", "depth": n / 6}, 10.0 + n)
        ax = study.plot_slice("k")
        ax.figure.canvas.draw()
        self.assertEqual([t.get_text() for t in ax.get_xticklabels()], ["a", "b"])
        ax = study.plot_slice("depth")  # which the best trial has not
        self.assertEqual([len(line.get_xdata()) for line in ax.lines], [6, 0])
        self.assertIsNone(ax.get_legend())

    def test_contours_of_conditional_parameters(self):
        space = {"k": ["a", "b"], "x": (0.0, 1.0), "depth": {"is": (0.0, 1.0), "when": {"k": ["b"]}}}
        study = self.study(space, algorithm="gp")
        for n in range(6):
            study.tell({"k": "a", "x": n / 6}, float(n))
            study.tell({"k": "b", "x": n / 6, "depth": n / 6}, 10.0 + n)
        ax = study.plot_contour("depth", "x")  # the best trial has no depth: no model, only trials
        self.assertEqual([len(line.get_xdata()) for line in ax.lines], [6])
        self.assertEqual(len(study.plot_contour("depth", "k").images), 1)
        ax = study.plot_contour("x", "k")
        self.assertLessEqual(len(ax.get_xticks()), 8)
        self.assertEqual([t.get_text() for t in ax.get_yticklabels()], ["a", "b"])
        ax = study.plot_parallel()
        self.assertEqual([t.get_text() for t in ax.get_xticklabels()], ["a\nk", "0\nx", "0\ndepth"])
        self.assertEqual([t.get_text() for t in ax.texts], ["b", "0.833", "0.833"])

    def test_front_and_curves(self):
        two = self.study(metrics={"a": "minimize", "b": "maximize"}, algorithm="gp")
        for x in range(5):
            two.tell({"x": float(x), "y": 1.0}, (float(x), float(x % 3)))
        ax = two.plot_pareto()
        self.assertEqual((len(ax.lines[1].get_xdata()), ax.get_xlabel(), ax.get_ylabel()), (len(two.front), "a", "b"))
        curves = service().study(self.id() + " curves", {"x": (0.0, 1.0)}, algorithm="random", goal="maximize",
                                 stopping={"rule": "median", "epochs": 9, "min_trials": 1})
        for value in (2.0, 1.0):
            with curves.ask() as trial:
                for step in (1, 2):
                    trial.report(step, value)
                trial.tell(value)
        self.assertEqual([line.get_linestyle() for line in curves.plot_curves().lines], ["-", "--"])
        self.assertEqual([row["state"] for row in curves.table()], ["completed", "stopped"])
        empty = service().study(self.id() + " empty", {"x": (0.0, 1.0), "y": (1.0, 2.0)})
        empty.plot_history()
        empty.plot_parallel()
        self.assertEqual(empty.table(), [])
        self.assertEqual(list(empty.dataframe())[:5], ["number", "state", "value", "x", "y"])
        self.assertIsNone(empty.best)


if __name__ == "__main__":
    unittest.main()
