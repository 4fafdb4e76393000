"""GnomonSampler and GnomonPruner: what Optuna asks of its own samplers, in our words, and what they are for."""
import math
import pickle
import unittest
import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from gnomon.optuna import GnomonPruner, GnomonSampler, observed
from tests.support import Case, branin, service

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def sampler(**more):
    return GnomonSampler(client=service(), **{"seed": 7, **more})


class Sampled(Case):
    def test_distributions(self):
        """Each kind alone, as often as the space has room: within its bounds, on its grid, of its type."""
        for distribution in (FloatDistribution(-1.0, 1.0), FloatDistribution(1e-7, 1.0, log=True), FloatDistribution(-10, 10, step=0.1),
                             FloatDistribution(0, 100, step=1e-2), IntDistribution(-10, 10), IntDistribution(1, 100, log=True),
                             IntDistribution(-10, 9, step=3), CategoricalDistribution(("a", None, 1, True, 2.5)),
                             FloatDistribution(1.0, 1.0), CategoricalDistribution((1,))):
            with self.subTest(distribution=distribution):
                study = optuna.create_study(sampler=sampler(algorithm="random"))
                for _ in range(6):
                    trial = study.ask({"p": distribution})
                    value = trial.params["p"]
                    self.assertTrue(distribution._contains(distribution.to_internal_repr(value)), value)
                    self.assertIn(type(value), {FloatDistribution: (float,), IntDistribution: (int,)}.get(
                        type(distribution), (str, type(None), int, bool, float)))
                    if isinstance(distribution, FloatDistribution) and distribution.step:
                        steps = (value - distribution.low) / distribution.step
                        self.assertAlmostEqual(steps, round(steps), places=6)
                    study.tell(trial, 1.0)

    def test_finds(self):
        study = optuna.create_study(sampler=sampler())
        study.optimize(lambda t: branin(t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)), n_trials=25)
        self.assertLess(study.best_value, 0.5)

    def test_same_again(self):
        runs = []
        for _ in range(2):
            study = optuna.create_study(sampler=sampler())
            study.optimize(lambda t: branin(t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)), n_trials=6)
            runs.append([t.params for t in study.trials])
        self.assertEqual(*runs)
        other = sampler()
        other.reseed_rng()
        self.assertEqual(type(pickle.loads(pickle.dumps(GnomonSampler("http://a", "b")))), GnomonSampler)

    def test_conditions_and_ranges_that_move(self):
        def f(t):
            x = t.suggest_float("x", 0, 1 + t.number % 3)
            if t.suggest_categorical("c", ["a", "b"]) == "a":
                return x + t.suggest_int("n", 1, 3)
            return x

        study = optuna.create_study(sampler=sampler())
        study.optimize(f, n_trials=10)
        self.assertEqual([t.state for t in study.trials], [TrialState.COMPLETE] * 10)
        fixed = optuna.samplers.PartialFixedSampler({"x": 0.5}, sampler())
        study = optuna.create_study(sampler=fixed)
        study.optimize(f, n_trials=4)
        self.assertEqual({t.params["x"] for t in study.trials}, {0.5})

    def test_every_state(self):
        def f(t):
            x = t.suggest_float("x", 0, 1)
            if t.number == 1:
                raise RuntimeError
            if t.number == 2:
                t.report(x, 1)
                raise optuna.TrialPruned()
            if t.number == 3:
                raise optuna.TrialPruned()
            return math.inf if t.number == 4 else float("nan") if t.number == 5 else x

        study = optuna.create_study(sampler=sampler())
        held = study.ask()
        held.suggest_float("x", 0, 1)  # it runs all the time
        study.optimize(f, n_trials=8, catch=(RuntimeError,))
        self.assertEqual(len({t.params["x"] for t in study.trials}), 8)  # the first that failed was tried once more
        self.assertIsNone(observed(create_trial(state=TrialState.PRUNED), ["value"], 0))

    def test_several_objectives_and_constraints(self):
        study = optuna.create_study(directions=["minimize", "maximize"],
                                    sampler=sampler(constraints_func=lambda t: (t.params["x"] - 0.75,)))
        study.optimize(lambda t: (t.suggest_float("x", 0, 1), t.params["x"] ** 2), n_trials=8)
        self.assertEqual([len(t.system_attrs["constraints"]) for t in study.trials], [1] * 8)
        study = optuna.create_study(sampler=sampler(algorithm={"name": "sobol"}, seed=None))
        study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4, n_jobs=2)
        self.assertEqual(len(study.trials), 4)


NUMBERS = (FloatDistribution(-1.0, 1.0), FloatDistribution(1e-7, 1.0, log=True), FloatDistribution(-10, 10, step=0.5),
           IntDistribution(3, 10), IntDistribution(1, 100, log=True), IntDistribution(3, 10, step=2))
CHOICES = (CategoricalDistribution((1, 10, 100)), CategoricalDistribution(("a", "b", "c")), CategoricalDistribution((1, "a")))


class AsOptunasOwn(Case):
    """What Optuna's tests ask of every sampler; its package does not bring them along."""

    def check(self, distribution, value):
        self.assertTrue(distribution._contains(distribution.to_internal_repr(value)), (distribution, value))
        if isinstance(distribution, CategoricalDistribution):
            self.assertIn((type(value), value), [(type(choice), choice) for choice in distribution.choices])
        else:
            self.assertIs(type(value), float if isinstance(distribution, FloatDistribution) else int)
        if getattr(distribution, "step", None):
            steps = (value - distribution.low) / distribution.step
            self.assertAlmostEqual(steps, round(steps))

    def test_pairs(self):
        """sample_relative, for any two distributions together."""
        for x in (*NUMBERS, *CHOICES):
            for y in (*NUMBERS, *CHOICES):
                space = {"x": x, "y": y}
                study = optuna.create_study(sampler=sampler(algorithm="random"))
                study.tell(study.ask(space), 1.0)
                for _ in range(2):
                    params = study.sampler.sample_relative(study, self.trial(study), space)
                    self.assertEqual(list(params), ["x", "y"])
                    for name, value in params.items():
                        self.check(space[name], value)

    @staticmethod
    def trial(study):
        return study._storage.get_trial(study._storage.create_new_trial(study._study_id))

    def test_each_alone(self):
        """sample_independent, with one objective and with two; then whole studies by the default algorithm."""
        for distribution in (*NUMBERS, *CHOICES):
            for directions in (["minimize"], ["minimize", "maximize"]):
                study = optuna.create_study(directions=directions, sampler=sampler())
                for _ in range(20):
                    self.check(distribution, study.sampler.sample_independent(study, self.trial(study), "x", distribution))
            study = optuna.create_study(sampler=sampler())
            for k in range(4):
                study.tell(study.ask({"x": distribution}), k)
            self.assertEqual([t.state for t in study.trials], [TrialState.COMPLETE] * 4)

    def test_only_one_value(self):
        space = {"a": CategoricalDistribution([1]), "b": IntDistribution(1, 1), "c": IntDistribution(1, 1, log=True),
                 "d": FloatDistribution(1.0, 1.0), "e": FloatDistribution(1.0, 1.0, log=True), "f": FloatDistribution(1.0, 1.0, step=1.0)}
        study = optuna.create_study(sampler=sampler())
        for _ in range(3):
            trial = study.ask(space)
            study.tell(trial, 1.0)
            self.assertEqual(trial.params, dict.fromkeys(space, 1))

    def test_ranges_narrower_wider_elsewhere(self):
        for low, high in ((0, 5), (0, 20), (20, 30)):
            study = optuna.create_study(sampler=sampler())
            for a, b in [(0, 10)] * 3 + [(low, high)] * 3:
                trial = study.ask({"x": FloatDistribution(a, b), "y": IntDistribution(a, b)})
                study.tell(trial, sum(trial.params.values()))
                self.assertTrue(all(a <= value <= b for value in trial.params.values()))

    def test_a_parameter_named_as_a_choice(self):
        study = optuna.create_study(sampler=sampler())
        kind, inner = CategoricalDistribution(("x", "y")), CategoricalDistribution(("a", "b"))
        for name, value in (("x", "a"), ("y", "b")):
            study.add_trial(create_trial(value=0.1, params={"kind": name, name: value}, distributions={"kind": kind, name: inner}))
        name = study.ask({"kind": kind}).params["kind"]
        self.check(inner, study.sampler.sample_independent(study, self.trial(study), name, inner))

    def test_no_number(self):
        study = optuna.create_study(sampler=sampler())
        for base, best in ((3, 3), (2, 2), (math.nan, 2), (1, 1)):
            study.optimize(lambda t: t.suggest_float("x", 0.1, 0.2) + base, n_trials=1)
            self.assertEqual(int(study.best_value), best)

    def test_told_of_each_end(self):
        """after_trial, before the trial has ended, whatever its end."""
        seen = []

        def limits(trial):
            seen.append((trial.number, trial.state))
            return (0.0,)

        def f(t):
            t.suggest_float("x", 0, 1)
            if t.number == 1:
                raise optuna.TrialPruned()
            if t.number == 2:
                raise RuntimeError
            return 1.0

        study = optuna.create_study(sampler=sampler(constraints_func=limits))
        study.optimize(f, n_trials=4, catch=(RuntimeError,))
        study.tell(study.ask(), 1.0)
        self.assertEqual(seen, [(number, TrialState.RUNNING) for number in (0, 1, 3, 4)])  # what failed has no constraints
        study = optuna.create_study(sampler=sampler(constraints_func=lambda t: 1 / 0))
        with self.assertRaises(ZeroDivisionError):
            study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2, catch=(ZeroDivisionError,))
        self.assertEqual(len(study.trials), 1)


class Pruned(Case):
    def run_study(self, pruner, trials=10):
        study = optuna.create_study(study_name=self.id(), sampler=optuna.samplers.RandomSampler(seed=1), pruner=pruner)

        def f(t):
            level = t.suggest_float("x", 0, 1) + (10 if t.number > 5 else 0)
            for step in range(6):
                t.report(level - step / 100, step)
                if t.should_prune():
                    raise optuna.TrialPruned()
            if t.number == 2:
                raise RuntimeError
            return level

        study.optimize(f, n_trials=trials, catch=(RuntimeError,))
        return study

    def test_median(self):
        pruner = GnomonPruner(client=service(), epochs=6, min_trials=2)
        self.assertFalse(pruner.prune(None, create_trial(value=1.0)))
        study = self.run_study(pruner)
        pruned = [t.number for t in study.trials if t.state == TrialState.PRUNED]
        self.assertEqual([number for number in pruned if number > 5], [6, 7, 8, 9])
        ours = service().study(self.id() + " (stopping)")
        self.assertEqual([t.state for t in ours.trials()][2], "failed")
        self.assertEqual(len(list(ours.trials(state="stopped"))), len(pruned))
        again = pickle.loads(pickle.dumps(GnomonPruner("http://a", "b", epochs=3)))
        self.assertEqual(again.stopping, {"rule": "median", "epochs": 3})
        last = study.trials[-1]
        self.assertTrue(pruner.prune(study, last))


if __name__ == "__main__":
    unittest.main()
