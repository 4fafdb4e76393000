"""optimize: threads and processes, failures, workers and services that are killed, Ctrl-C."""
import contextlib
import http.client
import io
import itertools
import linecache
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from unittest import mock

import gnomon
from gnomon import loop
from tests.support import ROOT, Case, branin, picklable, service

SPAWN = multiprocessing.get_context("spawn")
SPACE = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}


def value(trial):
    time.sleep(0.01)
    return branin(**trial)


class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


class Mute(Speechless, gnomon.Pruned):
    pass


class Loops(Case):
    def test_every_backend(self):
        for backend, workers in (("threads", 1), ("threads", 4), ("processes", 3)):
            study = service().study(f"{self.id()} {backend} {workers}", SPACE, trials=12, algorithm="random")
            seen = []
            study.optimize(value, workers=workers, backend=backend, callbacks=[lambda s, outcome: seen.append(outcome)])
            self.assertEqual(self.states(study), ["completed"] * 12)
            self.assertEqual(sorted(outcome.number for outcome in seen), list(range(1, 13)))
            for outcome in seen:
                self.assertEqual(outcome.value, branin(**outcome.params))
            study.optimize(value, workers=workers, backend=backend)  # there is nothing left
        with self.assertRaises(ValueError):
            study.optimize(value, backend="clouds")
        with self.assertRaises(ValueError):
            study.optimize(value, workers=0)

    def test_processes_that_are_not_forked(self):
        study = self.study(trials=6)
        with mock.patch.object(multiprocessing, "get_context", lambda: SPAWN):
            study.optimize(picklable, workers=2, backend="processes")
        self.assertEqual(self.states(study), ["completed"] * 6)

    def test_time_ends_while_waiting(self):
        study = self.study()
        study.pause()
        for backend in ("threads", "processes"):
            study.optimize(value, timeout=0.3, workers=2, backend=backend)
        with self.assertRaises(gnomon.Paused):
            study.ask(wait=0.1)
        with self.assertRaises(gnomon.Paused):
            study.ask(wait=1.5)

    def test_limits(self):
        study = self.study()
        study.optimize(value, trials=3).optimize(value, trials=4, workers=2).optimize(value, timeout=0)
        study.optimize(value, trials=2, workers=2, backend="processes")
        self.assertEqual(self.states(study), ["completed"] * 9)

        for wrong, kind in (({"trials": -1}, ValueError), ({"trials": 2.5}, TypeError), ({"trials": "5"}, TypeError),
                            ({"workers": 1.5}, TypeError)):
            with self.assertRaises(kind):
                study.optimize(value, **wrong)
        self.assertEqual(self.states(study), ["completed"] * 9)

    def test_failures_are_reported_and_skipped(self):
        study = self.study(trials=6)

        def f(trial):
            if trial.number % 2 == 0:
                raise RuntimeError(f"bad {trial.number}")
            if trial.number == 3:
                raise gnomon.Pruned("enough")
            return float("nan") if trial.number == 5 else 1.0

        study.optimize(f, trials=6)
        self.assertEqual([(t.state, t.reason) for t in study.trials()][:5], [
            ("completed", None), ("failed", "RuntimeError: bad 2"), ("failed", "enough"), ("failed", "RuntimeError: bad 4"),
            ("failed", "ValueError: not a finite number: nan")])

    def test_fails_always(self):
        def f(trial):
            raise RuntimeError("no such file")

        for workers, backend in ((1, "threads"), (3, "threads"), (2, "processes")):
            study = service().study(f"{self.id()} {workers} {backend}", SPACE, algorithm="random")
            with self.assertRaisesRegex(RuntimeError, "no such file"):
                study.optimize(f, workers=workers, backend=backend)
            self.assertEqual(study.refresh()["reason"], "too_many_failures")
            self.assertIn(self.states(study).count("failed"), range(10, 24))
            with self.assertRaises(gnomon.Finished):  # nothing failed here, but that is why there is nothing to do
                study.optimize(value)
        with self.assertRaises(NameError):
            self.study().optimize(lambda trial: nothing)  # noqa: F821
        self.assertEqual(self.states(self.study()), ["failed"])
        with self.assertRaises(RuntimeError):
            service().study(self.id() + " narrow", SPACE, algorithm="random").optimize(f, catch=(ValueError,))
        study = service().study(self.id() + " own", SPACE, algorithm="random")
        with self.assertRaises(RuntimeError):
            study.optimize(f, catch=(ValueError,), workers=2)
        with self.assertRaises(RuntimeError):
            study.optimize(f, catch=(ValueError,), workers=2, backend="processes")

    def test_fails_in_a_region(self):
        """More is better up to 0.7, beyond which there is no memory: the search learns that, and goes on."""
        study = service().study(self.id(), {"x": (0.0, 1.0)}, goal="maximize", trials=20)

        def f(trial):
            if trial["x"] > 0.7:
                raise MemoryError
            return trial["x"]

        study.optimize(f)
        self.assertEqual(study["reason"], "budget_exhausted")
        self.assertGreater(study.best.value, 0.69)
        self.assertEqual([(one["reason"], one["out_of_memory"]) for one in study.body["failures"]["reasons"]], [("MemoryError", True)])

    def test_gives_no_number(self):
        study = service().study(self.id(), SPACE, algorithm="random")
        with self.assertRaisesRegex(ValueError, "not a finite number"):
            study.optimize(lambda trial: float("nan"), trials=6)
        self.assertEqual(self.states(study), ["failed"] * 6)
        study.optimize(lambda trial: float("nan"), trials=3)  # too few to say
        with self.assertRaisesRegex(ValueError, "not a finite number"):
            study.optimize(lambda trial: float("nan"))
        self.assertEqual(self.states(study), ["failed"] * 10)
        study = service().study(self.id() + " own", SPACE, algorithm="random")
        with self.assertRaisesRegex(RuntimeError, "by its own word"):
            study.optimize(lambda trial: trial.fail("by its own word"))

    def test_tells_itself(self):
        study = self.study()
        study.optimize(lambda trial: trial.infeasible("always"), trials=2)
        self.assertEqual(self.states(study), ["infeasible"] * 2)

    def test_loses_a_lease(self):
        study = self.study()

        def f(trial):
            if trial.number == 1:  # somebody else finishes it
                trial.study._post("/observe", {"trial": 1, "value": 7.5})
            return 1.0

        outcomes = []
        with self.assertLogs("gnomon", "WARNING"):
            study.optimize(f, trials=2, callbacks=[lambda s, outcome: outcomes.append(outcome.number)])
        self.assertEqual(([t.value for t in study.trials()], outcomes), ([7.5, 1.0], [1, 2]))

    def test_pruned_by_the_study(self):
        study = self.study(goal="maximize", trials=8, stopping={"rule": "median", "epochs": 9, "min_trials": 1})

        def f(trial):
            for step in (1, 2, 3):
                trial.report(step, 9.0 - trial.number)
            return 9.0 - trial.number

        outcomes = []
        study.optimize(f, callbacks=[lambda s, outcome: outcomes.append(outcome.state)])
        self.assertEqual(outcomes, ["completed"] + ["stopped"] * 7)

    def test_failures_that_say_nothing(self):
        """An exception without a text, and one whose text raises another: the trial has failed by it, and on."""
        for backend, workers in (("threads", 1), ("threads", 3), ("processes", 2)):
            study = service().study(f"{self.id()} {backend} {workers}", SPACE, algorithm="random")

            def f(trial):
                if trial.number in (2, 4):
                    raise Speechless() if trial.number == 2 else KeyError()
                return value(trial)

            study.optimize(f, trials=6, workers=workers, backend=backend)
            reasons = {t.number: t.reason for t in study.trials() if t.state == "failed"}
            self.assertEqual(reasons, {2: "Speechless", 4: "KeyError"})
        with self.study().ask() as trial:
            raise Mute()
        self.assertEqual((trial.state, trial.reason), ("failed", "pruned"))

    def test_progress(self):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            study = self.study(trials=2).optimize(value, progress=True)
        first, line, _ = shown.getvalue().split("\n")
        self.assertEqual(first, f"{study.name}: {service().url}/#/studies/{study.id}")
        self.assertIn("\r2 of 2 trials, the last one: ", line)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.study(trials=2).optimize(value)
        self.assertEqual(shown.getvalue(), "", "nobody looks")

    def test_portable(self):
        class Odd(Exception):
            pass

        self.assertIs(type(loop.portable(Odd("x"))), RuntimeError)
        self.assertIsNone(loop.portable(None))


class Killed(Case):
    def test_worker_killed(self):
        """kill -9 of a worker in its trial: it is tried again, and another worker takes the dead one's place."""
        study = self.study()
        with tempfile.TemporaryDirectory() as folder:
            def f(trial):
                mark = os.path.join(folder, "died")
                if trial.number == 5 and not os.path.exists(mark):
                    open(mark, "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
                return value(trial)

            with self.assertLogs("gnomon", "WARNING") as logged:
                study.optimize(f, trials=12, workers=4, backend="processes")
        self.assertEqual(self.states(study), ["completed"] * 12)
        self.assertIn("ended with code -9", logged.output[0])

    def test_trial_that_kills(self):
        """One that kills every worker is tried twice; and if all do, the run ends."""
        study = self.study()

        def f(trial):
            if trial.number == 2:
                os._exit(3)
            return value(trial)

        study.optimize(f, trials=6, workers=2, backend="processes")
        self.assertEqual([t.state for t in study.trials()][1], "failed")
        self.assertEqual(self.states(study).count("completed"), 6)
        with self.assertRaisesRegex(RuntimeError, "worker processes die"):
            service().study(self.id() + " all", SPACE, algorithm="random").optimize(
                lambda trial: os._exit(1), workers=2, backend="processes")

    def test_service_killed(self):
        """kill -9 of the service under four workers, twice: nothing lost, nothing twice."""
        with tempfile.TemporaryDirectory() as folder:
            server = gnomon.local(folder)
            port = server.url.rsplit(":", 1)[1]
            study = server.study("s", SPACE, trials=24, algorithm="random")
            started, told = [], []

            def restart():
                for count in (6, 14):
                    self.wait_for(lambda: len(told) >= count)
                    server._process.kill()
                    server._process.wait()
                    server._process.stdout.close()
                    server._process = subprocess.Popen(
                        [os.environ["GNOMON"], "serve", "--listen", f"127.0.0.1:{port}", "--data", folder],
                        stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL, start_new_session=True)
                    started.append(server._process.stdout.readline())

            thread = threading.Thread(target=restart)
            thread.start()
            study.optimize(value, workers=4, callbacks=[lambda s, outcome: told.append(outcome.number)])
            thread.join()
            self.assertEqual([line[:12] for line in started], ["listening on"] * 2)
            self.assertEqual(sorted(told), list(range(1, 25)))
            self.assertEqual([t.value for t in study.trials()], [branin(**t.params) for t in study.trials()])
            server.close()

    def interrupted(self, options, sends, seconds=60):
        """A program in optimize, with trials running, gets these signals: its exit code, and the study, when its last process
        has ended."""
        study = self.study(trials=50)
        program = textwrap.dedent(f"""
            import os, sys, time
            sys.path.insert(0, {ROOT!r})
            import gnomon
            study = gnomon.connect({service().url!r}, {service().transport.token!r}).study({self.id()!r})
            def f(trial):
                os.write(1, b"runs\\n")
                time.sleep({seconds} if trial.number > 2 else 0)
                return 1.0
            study.optimize(f, {options})
            """)
        run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        workers = 3 if "workers" in options else 1
        for _ in range(2 + workers):
            self.assertEqual(run.stdout.readline(), "runs\n")
        run.send_signal(sends)
        _, said = run.communicate(timeout=60)
        return run.returncode, said, self.states(study)

    def test_interrupt(self):
        for name in ("workers=1", "workers=3", "workers=3, backend='processes'"):
            with self.subTest(options=name):
                options = name.replace("workers=1", "")
                code, said, states = self.interrupted(options, signal.SIGINT)
                self.assertEqual((code, states[:2], set(states[2:])), (-2, ["completed"] * 2, {"queued"}), said)
                self.study().delete()

    def test_terminated(self):
        for options in ("", "workers=3", "workers=3, backend='processes'"):
            with self.subTest(options=options):
                code, said, states = self.interrupted(options, signal.SIGTERM)
                self.assertEqual((code, states[:2], set(states[2:])), (143, ["completed"] * 2, {"queued"}), said)
                self.study().delete()

    def test_the_program_is_killed(self):
        """kill -9 of a program whose workers are processes: they end with the trials that they have."""
        code, said, states = self.interrupted("workers=3, backend='processes'", signal.SIGKILL, seconds=0.5)
        self.assertEqual((code, set(states)), (-9, {"completed"}), said)
        self.assertLess(len(states), 10)

    def test_interrupt_while_the_service_is_at_it(self):
        """What a suggest that nobody waits for any more hands out goes back, too."""
        study = self.study(algorithm="gp")
        for i in range(200):
            study.tell({"x": i % 15 - 5.0, "y": i % 14 + i / 200}, float(i % 7))
        real = http.client.HTTPConnection.getresponse

        def break_off(connection):
            mock.patch.stopall()
            raise KeyboardInterrupt

        for _ in range(5):
            mock.patch.object(http.client.HTTPConnection, "getresponse", break_off).start()
            with self.assertRaises(KeyboardInterrupt):
                study.ask()
            self.assertIs(http.client.HTTPConnection.getresponse, real)
            time.sleep(0.2)
            self.assertEqual([trial.number for trial in study.trials(state="running")], [])

    def test_interrupt_at_any_line(self):
        """Ctrl-C between two lines of the client, at every seventh: no trial is left with nobody.  Python itself sees to it
        that none comes between a `with` and what it calls at its ends."""
        study = self.study()
        package = os.path.dirname(gnomon.__file__)

        def once(first):
            lines, raised, counting = [], [], sys.gettrace()

            def line(frame, event, argument):
                place = frame.f_code.co_filename, frame.f_lineno
                is_with = frame.f_code.co_name == "__enter__" or linecache.getline(*place).lstrip().startswith("with ")
                if event == "line" and not is_with:
                    lines.append(place)
                    if len(lines) == first:
                        raised.append(place)
                        raise KeyboardInterrupt
                return line

            sys.settrace(lambda frame, *_: line if frame.f_code.co_filename.startswith(package) else None)
            try:
                study.optimize(lambda trial: 1.0, trials=1)
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(counting)
            return raised

        with self.assertLogs("gnomon", "WARNING") as logged:  # that a trial which was told could not be given back
            loop.log.warning("so that there is one")
            for first in itertools.count(1, 7):
                raised = once(first)
                self.assertEqual([trial.number for trial in study.trials(state="running")], [], raised)
                if not raised:
                    break
        self.assertGreater(first, 100)
        self.assertLess(len(logged.output), first)

    def test_interrupt_while_waiting_for_a_trial(self):
        study = self.study(trials=1)
        study.ask()  # the only one is out
        raised = []

        def stop():
            self.wait_for(lambda: sum(t.name.endswith("(body)") for t in threading.enumerate()) == 2)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=stop)
        thread.start()
        try:
            study.optimize(value, workers=2)
        except KeyboardInterrupt:
            raised.append(1)
        thread.join()
        self.assertEqual(raised, [1])
        self.wait_for(lambda: not any(t.name.endswith("(body)") for t in threading.enumerate()))


if __name__ == "__main__":
    unittest.main()
