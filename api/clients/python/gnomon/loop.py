"""optimize: workers that ask, run a function and tell, until the study ends.  One worker is this thread; several are threads,
or processes whose parent hands out the turns and sees to what a dead one held."""
from __future__ import annotations

import contextlib
import math
import multiprocessing
import multiprocessing.connection
import os
import pickle
import secrets
import signal
import socket
import sys
import threading
import time
from operator import index
from types import FrameType
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Protocol, Sequence, Tuple,
                    Type)

from .errors import Finished, GnomonError, LeaseLost, Paused, said
from .slot import Slot
from .transport import log

if TYPE_CHECKING:
    from .study import Study, Trial, Value

ALL_FAILED = 5  # turns of a run that are too many for all of them to have failed
# Errors that the function's author has to mend: no other trial would do better.
MISTAKES = (NameError, TypeError, AttributeError, ImportError)
LEAVE_SECONDS = 10.0  # for giving trials back at the end
Catch = Tuple[Type[BaseException], ...]


class Outcome(NamedTuple):
    """What became of a trial."""

    number: int
    params: Dict[str, Any]
    state: str
    value: Any
    reason: Optional[str]


class Terminated(SystemExit):
    """SIGTERM, as Slurm and Kubernetes send it."""


class Crew(Protocol):
    """What a worker needs of the run that it is a part of."""

    def ticket(self) -> Optional[float]:
        """The seconds there are to get a trial in; None when there is no other turn."""

    def done(self, outcome: Optional[Outcome], failure: Optional[BaseException]) -> None:
        """The turn's end; without an outcome it was none, because of this refusal."""

    def at(self, trial: Optional["Trial"]) -> None:
        """What the worker is about: this trial, or asking for one."""


def turn(crew: Crew, study: "Study", f: Callable[["Trial"], "Value"], catch: Catch,
         seconds: float) -> Tuple[Outcome, Optional[BaseException]]:
    """Asks, runs and tells; what f raised, if that is to be caught.  Between asking and `with` is no line, at which Ctrl-C
    would leave the trial with nobody."""
    failure: Optional[BaseException] = None
    trial: Any = None
    try:
        with study.ask(wait=True if seconds == math.inf else seconds) as trial:
            crew.at(trial)
            value = f(trial)
            if trial.state == "running":
                trial.tell(value)
    except LeaseLost as lost:
        log.warning("trial %d of %s: %s", trial.number, study.name, lost)
    except GnomonError:
        raise
    except catch as error:
        if trial is None:
            raise
        failure = error
    return Outcome(trial.number, dict(trial.params), trial.state, trial.value, trial.reason), failure


def work(crew: Crew, study: "Study", f: Callable[["Trial"], "Value"], catch: Catch) -> None:
    while True:
        seconds = crew.ticket()
        if seconds is None:
            return
        crew.at(None)
        try:
            outcome, failure = turn(crew, study, f, catch, seconds)
        except (Finished, Paused) as refused:
            crew.done(None, refused)
            return
        crew.done(outcome, failure)


class Run:
    """One call of optimize."""

    def __init__(self, study: "Study", f: Callable[["Trial"], "Value"], trials: Optional[int], workers: int, backend: str,
                 catch: Catch, timeout: Optional[float], callbacks: Sequence[Callable[["Study", Outcome], Any]],
                 progress: Optional[bool]) -> None:
        if backend not in ("threads", "processes"):
            raise ValueError(f"backend is threads or processes, not {backend!r}")
        if index(workers) < 1:
            raise ValueError("workers: at least one")
        if trials is not None and index(trials) < 0:
            raise ValueError(f"trials: how many, and not {trials}")
        self.study, self.f, self.catch, self.callbacks = study, f, catch, callbacks
        self.workers, self.backend, self.left = workers, backend, trials
        self.end = None if timeout is None else time.monotonic() + timeout
        self.stopped, self.over = False, False
        self.worked, self.turns = False, 0
        self.error: Optional[BaseException] = None
        self.failure: Optional[BaseException] = None  # the last
        self.lock = threading.RLock()
        self.places: Dict[int, Optional["Trial"]] = {}
        self.bar = bar(progress, study, trials if trials is not None else (study.body.get("budget") or {}).get("trials"))

    def go(self) -> None:
        with contextlib.closing(self.bar), terminating():
            if self.backend == "processes":
                Processes(self).go()
            elif self.workers == 1:
                work(self, self.study, self.f, self.catch)
            else:
                self._threads()
        if self.error is None and not self.worked and self.turns >= ALL_FAILED:
            self.error = self.failure
        if self.error is not None:
            raise self.error

    # As a crew

    def ticket(self) -> Optional[float]:
        with self.lock:
            seconds = math.inf if self.end is None else self.end - time.monotonic()
            if self.stopped or self.over or self.left == 0 or seconds <= 0:
                return None
            if self.left is not None:
                self.left -= 1
            return seconds

    def done(self, outcome: Optional[Outcome], failure: Optional[BaseException]) -> None:
        with self.lock:
            self.places.pop(threading.get_ident(), None)
            if outcome is None:
                self.over = True
                if isinstance(failure, Finished) and failure.is_by_failures:
                    self.error = self.error or self.failure or failure
                return
            self.turns += 1
            if outcome.state in ("failed", "died"):
                self.failure = failure or RuntimeError(outcome.reason)
            else:
                self.worked = True
            if self.turns == 1 and isinstance(failure, MISTAKES):
                self.stopped = True
                self.error = self.error or failure
            if not self.stopped:
                self.bar.update(outcome)
                for callback in self.callbacks:
                    callback(self.study, outcome)

    def at(self, trial: Optional["Trial"]) -> None:
        with self.lock:
            self.places[threading.get_ident()] = trial

    # Threads

    def _threads(self) -> None:
        def body() -> None:
            try:
                work(self, self.study, self.f, self.catch)
            except BaseException as failure:
                with self.lock:
                    if not self.stopped:
                        self.error, self.stopped = self.error or failure, True
            finally:
                self.places.pop(threading.get_ident(), None)

        threads = [threading.Thread(target=body, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) and not self.stopped:
                for thread in threads:
                    thread.join(0.05)
        except BaseException:
            self.stopped = True
            self._give_back()
            raise
        self._give_back()

    def _give_back(self) -> None:
        """What threads hold that may still be running; these go on, and find that nobody waits for them."""
        with self.lock:
            places = dict(self.places)
        for thread, trial in places.items():
            if trial is None:
                self.study.client.transport.interrupt(thread)
            else:
                with contextlib.suppress(GnomonError):
                    trial.give_back("interrupted")
        end = time.monotonic() + LEAVE_SECONDS
        while time.monotonic() < end and any(
                thread in self.places and (trial is None or trial.state not in ("abandoned", "lost"))
                for thread, trial in places.items()):
            time.sleep(0.01)


class Remote:
    """The crew as a process of it sees it."""

    def __init__(self, pipe: "multiprocessing.connection.Connection") -> None:
        self.pipe = pipe

    def ticket(self) -> Optional[float]:
        self.pipe.send(("ticket", None, None))
        seconds: Optional[float] = self.pipe.recv()
        return seconds

    def done(self, outcome: Optional[Outcome], failure: Optional[BaseException]) -> None:
        self.pipe.send(("done", outcome, portable(failure)))

    def at(self, trial: Optional["Trial"]) -> None:
        pass


def portable(failure: Optional[BaseException]) -> Optional[BaseException]:
    """Itself where it can be sent to another process, else its text."""
    try:
        pickle.loads(pickle.dumps(failure))
        return failure
    except Exception:
        return RuntimeError(said(failure))


def child(pipe: "multiprocessing.connection.Connection", of_parent: Sequence["multiprocessing.connection.Connection"], name: str,
          study: "Study", f: Callable[["Trial"], "Value"], catch: Catch) -> None:
    """A worker process.  Ctrl-C reaches its parent, which says what to do.  Its copies of the parent's ends of pipes go: with
    them no worker would see that the parent was killed."""
    for end in of_parent:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, terminate)
    Slot.name_process(name)
    try:
        work(Remote(pipe), study, f, catch)
        pipe.send(("end", None, None))
    except (EOFError, BrokenPipeError, ConnectionResetError, Terminated):  # the parent is gone, or wants an end
        pass
    except BaseException as failure:
        pipe.send(("error", None, portable(failure)))


class Worker(NamedTuple):
    process: Any
    pipe: "multiprocessing.connection.Connection"
    name: str


class Processes:
    """The parent's side."""

    def __init__(self, run: Run) -> None:
        self.run, self.context = run, multiprocessing.get_context()
        self.crew: Dict[Any, Worker] = {}
        self.died: List[int] = []
        self.name = f"{socket.gethostname()[:64]}-{os.getpid()}-{secrets.token_hex(2)}"
        self.started = 0

    def start(self) -> None:
        self.started += 1
        ours, theirs = self.context.Pipe()
        name = f"{self.name}-{self.started}"
        is_forked = self.context.get_start_method() == "fork"
        of_parent = [ours, *(worker.pipe for worker in self.crew.values())] if is_forked else []
        process: Any = self.context.Process(
            target=child, args=(theirs, of_parent, name, self.run.study, self.run.f, self.run.catch))
        process.start()
        theirs.close()
        self.crew[process.sentinel] = Worker(process, ours, name)

    def go(self) -> None:
        try:
            for _ in range(self.run.workers):
                self.start()
            while self.crew and not self.run.stopped:
                ready = multiprocessing.connection.wait([end for worker in self.crew.values()
                                                         for end in (worker.pipe, worker.process.sentinel)])
                for worker in list(self.crew.values()):
                    if worker.pipe in ready or worker.process.sentinel in ready:
                        self.hear(worker)
        finally:
            self.run.stopped = True
            self.stop()

    def hear(self, worker: Worker) -> None:
        """One message, or the end of it."""
        try:
            kind, outcome, failure = worker.pipe.recv() if worker.pipe.poll() else ("died", None, None)
            if kind == "ticket":
                worker.pipe.send(self.run.ticket())
        except (EOFError, OSError):
            kind, outcome, failure = "died", None, None
        if kind == "done":
            self.run.done(outcome, failure)
        elif kind == "error":
            self.run.error, self.run.stopped = self.run.error or failure, True
        elif kind == "died":
            self.replace(worker)
        if kind == "end":
            self.part(worker)

    def part(self, worker: Worker) -> None:
        worker.process.join()
        worker.pipe.close()
        del self.crew[worker.process.sentinel]

    def replace(self, worker: Worker) -> None:
        """A trial whose worker died is tried once more, and has failed when that one dies, too."""
        self.part(worker)
        reason = f"its worker ended with exit code {worker.process.exitcode}"
        numbers = self.run.study.reclaim(worker.name + "-1", spare=self.died, reason=reason)
        self.died += numbers
        log.warning("worker %s ended with code %s", worker.name, worker.process.exitcode)
        failure = RuntimeError(f"worker processes die (exit code {worker.process.exitcode})")
        self.run.done(Outcome(numbers[0] if numbers else 0, {}, "died", None, str(failure)), failure)
        if self.run.left is not None and numbers:
            self.run.left += 1
        if not self.run.stopped:
            self.start()

    def stop(self) -> None:
        for worker in self.crew.values():
            worker.process.terminate()
        end = time.monotonic() + LEAVE_SECONDS
        for worker in list(self.crew.values()):
            worker.process.join(max(0.0, end - time.monotonic()))
            in_time = worker.process.exitcode == 0 and time.monotonic() < end
            if worker.process.exitcode != 0:
                worker.process.kill()
                worker.process.join()
            if in_time or worker.process.exitcode != 0:  # SIGTERM may have come before it knew of its trial
                self.run.study.reclaim(worker.name + "-1")
            self.part(worker)


def terminate(number: int, frame: Optional[FrameType]) -> None:
    raise Terminated(128 + number)


@contextlib.contextmanager
def terminating() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does, unless the program has its own way."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Silence:
    """Shows nothing."""

    def update(self, outcome: Outcome) -> None:
        pass

    def close(self) -> None:
        pass


class Progress(Silence):
    """One line on the terminal: the study's page first, then how many trials ended and the last one's value."""

    def __init__(self, study: "Study", total: Optional[int]) -> None:
        self.total, self.ended = f" of {total}" if total is not None else "", 0
        print(f"{study.name}: {study.page}", file=sys.stderr)

    def update(self, outcome: Outcome) -> None:
        self.ended += 1
        last = outcome.value if isinstance(outcome.value, float) else outcome.state
        print(f"\r{self.ended}{self.total} trials, the last one: {last}\033[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.ended > 0:
            print(file=sys.stderr)


def bar(progress: Optional[bool], study: "Study", total: Optional[int]) -> Silence:
    """Progress where somebody looks, or where it was asked for."""
    if progress is False or progress is None and not sys.stderr.isatty():
        return Silence()
    return Progress(study, total)
