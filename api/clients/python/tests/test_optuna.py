"""Optuna's studies come in value by value."""
import contextlib
import io
import math
import os
import shutil
import sqlite3
import tempfile
import time
import unittest
import unittest.mock
import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import gnomon
from gnomon import migrate
from gnomon.__main__ import main
from tests.support import Case, Uncounted, service

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def every_kind(t):
    """All distributions, conditions, curves, attributes; some trials fail, some are pruned."""
    value = t.suggest_float("a", -1.5, 2.5) + t.suggest_float("b", 1e-5, 1, log=True) + t.suggest_float("c", 0, 1, step=0.1)
    value += t.suggest_int("d", 1, 9) + t.suggest_int("e", 2, 20, step=3) + t.suggest_int("f", 1, 1000, log=True) / 1000
    kind = t.suggest_categorical("kind", ["x", None, True, 1.5, 7])
    if kind in ("x", None):
        value += t.suggest_float("only", 0, 1 + (t.number > 4))
    t.set_user_attr("host", {"name": "a", "cores": [1, 2]})
    for step in range(3):
        t.report(value / (step + 1), step)
        if t.number % 7 == 6 and step == 1:
            raise optuna.TrialPruned()
    if t.number % 11 == 10:
        raise RuntimeError("no memory")
    return value


def history(trials):
    """So many trials of that, made in memory and not counted: Optuna takes its time."""
    with Uncounted():
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
        study.optimize(every_kind, n_trials=trials, catch=(RuntimeError,))
        return study.trials


class Imported(Case):
    @classmethod
    def setUpClass(cls):
        """A store of Optuna's without a study, made once: its tables take it a third of a second."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.empty = os.path.join(folder.name, "empty.db")
        with Uncounted():
            optuna.storages.RDBStorage(f"sqlite:///{cls.empty}").remove_session()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "optuna.db")
        self.storage = f"sqlite:///{self.file}"
        shutil.copy(self.empty, self.file)

    def command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["import-optuna", *arguments, "--url", service().url, "--token", service().transport.token])
        return code, out.getvalue(), err.getvalue()

    def compare(self, study, source, but=()):
        """Every trial, by its number there; the values to the last bit, but of steps, which are decimal numbers here."""
        ours = {trial.external_id: trial for trial in study.trials()}
        states = {TrialState.COMPLETE: "completed", TrialState.FAIL: "failed", TrialState.PRUNED: "stopped",
                  TrialState.WAITING: "queued", TrialState.RUNNING: "queued"}
        curves = {c["trial"]: c for c in service().transport.pages(study.path + "/curves", "curves")}
        for theirs in source.get_trials(deepcopy=False):
            if theirs.number in but:
                continue
            trial = ours.pop(migrate.identity(source.study_name, theirs.number))
            self.assertEqual(trial.state, states[theirs.state])
            for name, value in theirs.params.items():
                if getattr(theirs.distributions[name], "step", None):
                    value = round(value, 12)
                self.assertEqual((type(trial.params[name]) is bool, trial.params[name]), (type(value) is bool, value), name)
            if theirs.state == TrialState.COMPLETE and len(source.directions) == 1:
                self.assertEqual(trial.value, theirs.value)
            if theirs.intermediate_values and theirs.state == TrialState.COMPLETE:
                self.assertEqual(curves[trial.number]["values"], list(theirs.intermediate_values.values()))
            self.assertEqual(trial.metadata, theirs.user_attrs)
        self.assertEqual(ours, {})

    def stored(self, storage, trials):
        with Uncounted():
            source = optuna.create_study(study_name=self.id(), storage=storage)
            source.add_trials(trials)
            return source

    def test_every_kind(self):
        trials = history(18)
        self.assertEqual({t.state for t in trials}, {TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED})
        source = self.stored(self.storage, trials)
        code, out, err = self.command(self.file, "--dry-run")
        self.assertEqual((code, out), (0, f"{self.id()}: 18 imported, 0 queued, 0 duplicates, 0 skipped (dry run)\n"), err)
        self.assertEqual(list(service().studies(name=self.id())), [])
        code, out, err = self.command(self.storage, "--study", self.id())
        study = service().study(self.id())
        self.assertEqual((code, out), (0, f"{self.id()}: 18 imported, 0 queued, 0 duplicates, 0 skipped into {study.id}\n"), err)
        self.compare(study, source)
        only = study["space"]["parameters"][-1]
        self.assertEqual((only["name"], only["max"], only["when"]), ("only", 2.0, {"kind": [None, "x"]}) if
                         only["when"]["kind"][0] is None else ("only", 2.0, {"kind": ["x", None]}))
        self.assertEqual(study.best.value, source.best_value)
        study.ask().tell(1.0)  # it goes on
        self.assertIn("18 duplicates", self.command(self.file)[1])
        source.add_trials(trials[:5])
        self.assertIn("5 imported, 0 queued, 18 duplicates", self.command(self.file)[1])

    def test_several_objectives_and_constraints(self):
        source = optuna.create_study(study_name=self.id(), storage=self.storage, directions=["minimize", "maximize"])
        for k in range(6):
            source.add_trial(create_trial(values=[k, -k], params={"x": k / 8}, distributions={"x": FloatDistribution(0, 1)},
                                          system_attrs={"constraints": [k - 3.5, -1.0]}))
        source.add_trial(create_trial(values=[1, 1], params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)}))
        source.add_trial(create_trial(values=[math.inf, 1], params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)},
                                      system_attrs={"constraints": [0.0, 0.0]}))
        code, out, err = self.command(self.file, "--name", self.id() + " here")
        study = service().study(self.id() + " here")
        self.assertEqual((code, "7 imported" in out), (0, True), err)
        self.assertIn("trial 6 (complete) is left out: it lacks its constraints", err)
        self.assertEqual([(t.state, t["values"]) for t in study.trials()][:6],
                         [("completed", {"value_0": k, "value_1": -k, "constraint_0": k - 3.5, "constraint_1": -1}) for k in range(6)])
        self.assertEqual(self.states(study)[6], "infeasible")
        self.assertEqual(len(study.front), 1)

    def test_states_and_odd_spaces(self):
        source = optuna.create_study(study_name="n" * 100, storage=self.storage)
        x, n = FloatDistribution(0, 1), IntDistribution(1, 3)
        add = lambda **more: source.add_trial(create_trial(**more))
        add(value=1.0, params={"x": 0.5, "n": 2}, distributions={"x": x, "n": n})
        add(value=2.0, params={"x": 0.5}, distributions={"x": x})  # nothing says when n is there
        add(state=TrialState.FAIL, system_attrs={"fail_reason": "killed"}, params={"x": 0.25, "n": 1}, distributions={"x": x, "n": n})
        add(state=TrialState.FAIL)
        add(state=TrialState.PRUNED, params={"x": 0.25, "n": 3}, distributions={"x": x, "n": n})
        running = source.ask({"x": x, "n": n})
        code, out, err = self.command(self.file)
        self.assertEqual((code, "4 imported, 1 queued" in out), (0, True), (out, err))
        self.assertIn("n: some trials lack it", err)
        self.assertIn("trial 3 (fail) is left out: it lacks a parameter", err)
        study = service().study("n" * 100)
        self.assertEqual([(t.state, t.reason, t.params) for t in study.trials()], [
            ("completed", None, {"x": 0.5, "n": 2}), ("completed", None, {"x": 0.5, "n": 2}),
            ("failed", "killed", {"x": 0.25, "n": 1}), ("failed", "pruned", {"x": 0.25, "n": 3}), ("queued", None, running.params)])
        optuna.create_study(study_name="empty", storage=self.storage)
        self.assertEqual(self.command(self.file, "--study", "empty")[0], 1)
        self.assertEqual(self.command(self.file, "--name", "x")[0], 64)
        other = optuna.create_study(study_name="other metrics", storage=self.storage, direction="maximize")
        other.add_trial(create_trial(value=1.0, params={"x": 0.5}, distributions={"x": x}))
        self.assertIn("other metrics", self.command(self.file, "--study", "other metrics", "--name", "n" * 100)[2])

    def test_what_waits_what_is_no_number_and_what_cannot_come(self):
        source = optuna.create_study(study_name=self.id(), storage=self.storage)

        def measure(trial):
            trial.set_user_attr("deep", {"loss": [1, float("nan"), -math.inf]})
            return trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 1, 5, step=2) + len(trial.suggest_categorical("c", ("a", "bb")))

        source.optimize(measure, n_trials=3)
        for point in ({"x": 0.25, "n": 3, "c": "a"}, {"x": 2.0, "n": 3, "c": "a"}, {"x": 0.5, "n": 2, "c": "a"}, {"x": 0.5, "n": 1, "c": "d"}, {"x": 0.5}):
            source.enqueue_trial(point)
        optuna.create_study(study_name=self.id() + " without trials", storage=self.storage)
        last = optuna.create_study(study_name=self.id() + " behind it", storage=self.storage)
        last.optimize(lambda trial: trial.suggest_float("x", 0, 1e-3, step=1e-7), n_trials=2)
        last.add_trial(create_trial(value=1.0, params={"x": 2.5}, distributions={"x": FloatDistribution(2, 3)}))
        self.assertIn("3 imported, 1 queued", self.command(self.file, "--dry-run")[1])
        code, out, err = self.command(self.file)
        self.assertEqual(code, 1)
        for words in ("without trials is left out", "x = 2.0", "n = 2", "c = 'd'", "lacks a parameter", "attribute deep/loss/1 is no number",
                      "its step or where it begins changed", "its range changed from trial to trial"):
            self.assertIn(words, err)
        study = service().study(self.id())
        self.assertEqual([t.params for t in study.trials() if t.state == "queued"], [{"x": 0.25, "n": 3, "c": "a"}])
        self.assertEqual(next(t for t in study.trials())["metadata"], {"deep": {"loss": [1, "nan", "-inf"]}})
        self.assertEqual(len(list(service().study(self.id() + " behind it").trials())), 3)
        self.assertEqual(list(service().studies(name=self.id() + " without trials")), [])

    def test_an_import_that_fails_leaves_nothing(self):
        source = optuna.create_study(study_name=self.id(), storage=self.storage)
        source.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
        made = migrate.plan(source)
        made.trials[1]["metadata"] = {"large": "x" * 10 ** 6}
        with self.assertRaises(gnomon.GnomonError):
            migrate.apply(service(), made)
        self.assertEqual(list(service().studies(name=self.id())), [])
        self.assertEqual(migrate.apply(service(), migrate.plan(source))["imported"], 2)

    def test_journal(self):
        path = self.file + ".log"
        storage = optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(path))
        optuna.delete_study(study_name=optuna.create_study(study_name="gone", storage=storage).study_name, storage=storage)
        for name in ("first", "second"):
            source = optuna.create_study(study_name=f"{self.id()} {name}", storage=storage, direction="maximize")

            def measure(trial):
                trial.set_user_attr("seconds", 0.5)
                x = trial.suggest_float("x", 1e-5, 1, log=True)
                trial.report(x, 1)
                if trial.number == 2:
                    raise optuna.TrialPruned()
                return x + trial.suggest_int("n", 1, 9, step=2) + (trial.suggest_categorical("c", (None, 1, "1")) is None)

            source.optimize(measure, n_trials=4)
            source.enqueue_trial({"x": 0.5, "n": 3, "c": None})
            source.add_trial(create_trial(value=1.0, params={"x": 0.25}, distributions={"x": FloatDistribution(1e-5, 1, log=True)}))
        with open(path, "a") as file:
            file.write('{"op_code": 4, "worker_id": "torn')
        read = list(migrate.from_journal(path))
        self.assertEqual(read, [migrate.from_optuna(optuna.load_study(study_name=one.name, storage=storage)) for one in read])
        self.assertEqual([one.name for one in read], [f"{self.id()} first", f"{self.id()} second"])
        code, out, err = self.command(path)
        self.assertEqual((code, out.count("imported, 1 queued")), (0, 2), (out, err))

    def test_condition_of_what_failed(self):
        """That a value brings another parameter with it may be seen at a failed trial alone."""
        source = optuna.create_study(study_name=self.id(), storage=self.storage)
        kind, x = CategoricalDistribution(("a", "b", "c")), FloatDistribution(0, 1)
        source.add_trial(create_trial(value=1.0, params={"kind": "a", "x": 0.5}, distributions={"kind": kind, "x": x}))
        source.add_trial(create_trial(value=2.0, params={"kind": "b"}, distributions={"kind": kind}))
        source.add_trial(create_trial(state=TrialState.FAIL, params={"kind": "c", "x": 0.25}, distributions={"kind": kind, "x": x}))
        source.add_trial(create_trial(state=TrialState.FAIL, params={"kind": "a"}, distributions={"kind": kind}))  # came no further
        made = migrate.plan(source)
        self.assertEqual(made.spec["space"]["parameters"][1]["when"], {"kind": ["a", "c"]})
        self.assertEqual([row["point"] for row in made.trials], [t.params for t in source.trials[:3]])

    def test_distributions(self):
        kinds = {"Float": FloatDistribution, "Int": IntDistribution, "Categorical": CategoricalDistribution}
        for seen, wanted in (
                ([IntDistribution(1, 9, step=4), IntDistribution(3, 9, step=2)], {"type": "int", "min": 1, "max": 9, "step": 2}),
                ([FloatDistribution(0, 1, step=0.25), FloatDistribution(0, 2)], {"type": "double", "min": 0, "max": 2}),
                ([FloatDistribution(0, 1, step=1e-5)], {"type": "double", "min": 0, "max": 1, "step": 1e-5}),
                ([FloatDistribution(1, 2, log=True)] * 2, {"type": "double", "min": 1, "max": 2, "scale": "log"}),
                ([CategoricalDistribution((1, True, "1"))] * 2, {"type": "categorical", "values": [1, True, "1"]})):
            ranges = [migrate.range_of(optuna.distributions.distribution_to_json(one)) for one in seen]
            self.assertEqual(migrate.union("p", ranges), {"name": "p", **wanted})
            self.assertIs(kinds[ranges[0].kind], type(seen[0]))
        for text, wanted in (
                ('{"name": "LogUniformDistribution", "attributes": {"low": 1, "high": 2}}', ("Float", 1, 2, True, None)),
                ('{"name": "DiscreteUniformDistribution", "attributes": {"low": 0, "high": 2, "q": 0.5}}', ("Float", 0, 2, False, 0.5)),
                ('{"name": "IntLogUniformDistribution", "attributes": {"low": 1, "high": 8, "step": 1}}', ("Int", 1, 8, True, 1))):
            self.assertEqual(migrate.range_of(text)[:5], wanted)

    def test_file_as_optuna_reads_it(self):
        source = optuna.create_study(study_name="s", storage=self.storage, directions=["minimize", "maximize"])
        source._storage.set_study_system_attr(source._study_id, "study:metric_names", ["loss", "speed"])
        source.add_trial(create_trial(values=[math.inf, -math.inf], params={"x": 0.1}, distributions={"x": FloatDistribution(0, 1)},
                                      user_attrs={"a": [1]}, system_attrs={"b": None}))
        source.add_trial(create_trial(state=TrialState.FAIL, params={"k": None}, intermediate_values={0: 1.0, 3: math.inf},
                                      distributions={"k": CategoricalDistribution((1.5, None))}))
        source.ask({"n": IntDistribution(1, 9)})
        self.assertEqual(list(migrate.from_sqlite(self.file)), [migrate.from_optuna(source)])
        self.assertEqual(migrate.plan(source).spec["metrics"][1], {"name": "speed", "goal": "maximize"})
        self.assertEqual(self.command(self.file, "--study", "t")[0], 1)
        self.assertEqual(self.command(self.file + "x")[0], 1)
        os.rename(self.file, self.file + "?#%41")  # an odd name is a name
        self.assertEqual(len(list(migrate.from_sqlite(self.file + "?#%41"))), 1)
        with unittest.mock.patch("optuna.get_all_study_summaries", side_effect=ValueError("Optuna's turn")):
            self.assertIn("Optuna's turn", self.command("redis://127.0.0.1/0")[2])

    def test_workers_at_it(self):
        """One moment is read, whatever is written meanwhile: a trial that begins then has rows in one table, none in another."""
        source = optuna.create_study(study_name="s", storage=self.storage)
        source.optimize(every_kind, n_trials=2)
        with contextlib.closing(sqlite3.connect(self.file)) as store:
            store.execute("PRAGMA journal_mode = WAL")  # so that one may write while another reads
        was = migrate.from_optuna(source)
        with self.meanwhile(source):
            self.assertEqual(list(migrate.from_sqlite(self.file)), [was])

    def meanwhile(self, source):
        """When its first distribution is read the study gets another trial."""
        range_of, left = migrate.range_of, [1]

        def instead(text):
            if left:
                with Uncounted():
                    source.optimize(every_kind, n_trials=left.pop(), catch=(RuntimeError,))
            return range_of(text)

        return unittest.mock.patch("gnomon.migrate.range_of", instead)

    @unittest.skipUnless("GNOMON_TEST_DATABASE" in os.environ, "sh tests/check/postgres COMMAND runs it beside PostgreSQL")
    def test_postgres(self):
        """The same as from a file, without Optuna, and nothing is made where nothing is."""
        url = os.environ["GNOMON_TEST_DATABASE"]
        with unittest.mock.patch.dict("sys.modules", {"optuna": None}):
            code, _, err = self.command(url)
        self.assertEqual((code, "studies" in err, err.count("\n")), (1, True, 1), err)
        self.assertEqual(self.tables(url), [])
        source = self.stored(url, history(14))
        source.enqueue_trial({"a": 0.1})
        both = optuna.create_study(study_name="both", storage=url, directions=["minimize", "maximize"])
        both._storage.set_study_system_attr(both._study_id, "study:metric_names", ["loss", "speed"])
        both.add_trial(create_trial(values=[0.1 + 0.2, -math.inf], params={"x": 5e-324}, user_attrs={"a": [1, None]},
                                    distributions={"x": FloatDistribution(0, 1)}, system_attrs={"constraints": [1e-300]}))
        both.add_trial(create_trial(state=TrialState.FAIL, params={"k": None}, intermediate_values={0: 1.0, 3: math.inf},
                                    distributions={"k": CategoricalDistribution((1.5, None))}))
        self.assertEqual(list(migrate.from_database(url)), [migrate.from_optuna(source), migrate.from_optuna(both)])
        before = self.tables(url)
        self.assertIn("14 imported, 0 queued", self.command(url, "--study", self.id(), "--dry-run")[1])
        code, out, err = self.command(url, "--study", self.id())
        self.assertEqual((code, "14 imported, 0 queued, 0 duplicates" in out), (0, True), out + err)
        self.assertIn("trial 14 (waiting) is left out", err)
        self.compare(service().study(self.id()), source, but=[14])
        self.assertIn("0 imported, 0 queued, 14 duplicates", self.command(url, "--study", self.id())[1])
        self.assertEqual(self.command(url, "--study", "nobody's")[0], 1)
        self.assertEqual(self.tables(url), before)
        was = migrate.from_optuna(source)
        with self.meanwhile(source):
            self.assertEqual(list(migrate.from_database(url, [self.id()])), [was])
        code, _, err = self.command("postgresql:///postgres?host=/nowhere")
        self.assertEqual((code, err.count("\n")), (1, 1), err)
        self.assertEqual(self.command("nonsense://x")[0], 1)

    def tables(self, url):
        import psycopg2
        with contextlib.closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
            return cursor.fetchall()

    def test_many(self):
        """5,000 trials, whole, as they were."""
        source = optuna.create_study(study_name=self.id())
        d = {"x": FloatDistribution(-5, 10), "n": IntDistribution(1, 64), "k": CategoricalDistribution(("a", "b", "c"))}
        source.add_trials([create_trial(value=k * 0.37, params={"x": k / 500 - 5, "n": 1 + k % 64, "k": "abc"[k % 3]},
                                        distributions=d) for k in range(5000)])
        with Uncounted():
            began, cpu = time.monotonic(), time.process_time()
            said = migrate.apply(service(), migrate.plan(source))
            print(f"# 5,000 trials in {time.monotonic() - began:.2f} s, {time.process_time() - cpu:.2f} s of them this process's CPU")
            self.assertEqual(said["imported"], 5000)
            self.compare(service().study(self.id()), source)
            self.assertEqual(migrate.apply(service(), migrate.plan(source))["duplicates"], 5000)


if __name__ == "__main__":
    unittest.main()
