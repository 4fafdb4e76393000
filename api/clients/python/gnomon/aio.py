"""The same with await.  Each call runs in a thread, as the client of the standard library does; what is cancelled while a
trial is asked for gives that trial back."""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Mapping, Optional, Type, TypeVar

from .errors import Finished, GnomonError, LeaseLost
from .loop import ALL_FAILED
from .options import names_options
from .study import Client, Record, Study, Trial, Value

T = TypeVar("T")
THREADS = 128  # each that waits for a trial has one


class Threads:
    """Where the calls of one client run."""

    def __init__(self) -> None:
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS, "gnomon")

    async def run(self, f: Callable[..., T], *arguments: Any, **more: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.pool, functools.partial(f, *arguments, **more))


@names_options
class AsyncClient:
    """AsyncClient(gnomon.connect())."""

    def __init__(self, client: Client) -> None:
        self.client, self.threads = client, Threads()

    async def study(self, *arguments: Any, **more: Any) -> "AsyncStudy":
        return AsyncStudy(await self.threads.run(self.client.study, *arguments, **more), self.threads)

    async def call(self, *arguments: Any, **more: Any) -> Any:
        return await self.threads.run(self.client.call, *arguments, **more)

    async def close(self) -> None:
        """Ends the threads; the client is whose it was."""
        self.threads.pool.shutdown(wait=False)


@names_options
class AsyncStudy:
    """A study; what is not here: `await study.run(Study.pause)`, or `study.study`."""

    def __init__(self, study: Study, threads: Threads) -> None:
        self.study, self.threads = study, threads

    async def run(self, method: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Any method of Study."""
        return await self.threads.run(method, self.study, *arguments, **more)

    async def ask(self, **more: Any) -> "AsyncTrial":
        asked = self.threads.pool.submit(functools.partial(self.study.ask, **more))
        try:
            return AsyncTrial(await asyncio.shield(asyncio.wrap_future(asked)), self.threads)
        except asyncio.CancelledError:
            asked.add_done_callback(unwanted)
            raise

    async def tell(self, params: Mapping[str, Any], value: Value, **more: Any) -> None:
        await self.run(Study.tell, params, value, **more)

    async def best(self) -> Optional[Record]:
        return await self.threads.run(lambda: self.study.best)

    async def trials(self, **query: Any) -> List[Record]:
        return await self.threads.run(lambda: list(self.study.trials(**query)))

    async def __aiter__(self) -> AsyncIterator["AsyncTrial"]:
        while True:
            try:
                trial = await self.ask()
            except Finished:
                return
            yield trial

    async def optimize(self, f: Callable[["AsyncTrial"], Awaitable[Value]], *, trials: Optional[int] = None,
                       workers: int = 1) -> "AsyncStudy":
        """Runs `await f(trial)` for so many trials at a time; what f raises makes a failed trial, and is raised as by
        `Study.optimize`."""
        if workers < 1:
            raise ValueError("workers: at least one")
        turns = iter(range(trials)) if trials is not None else iter(int, 1)
        state: Dict[str, Any] = {"turns": 0, "worked": False, "failure": None}
        tasks = [asyncio.ensure_future(self._work(f, turns, state)) for _ in range(workers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not state["worked"] and state["turns"] >= ALL_FAILED and state["failure"] is not None:
            raise state["failure"]
        await self.run(Study.refresh)
        return self

    async def _work(self, f: Callable[["AsyncTrial"], Awaitable[Value]], turns: Iterator[int], state: Dict[str, Any]) -> None:
        for _ in turns:
            try:
                trial = await self.ask()
            except Finished as finished:
                if finished.is_by_failures:
                    raise state["failure"] or finished
                return
            try:
                async with trial:
                    value = await f(trial)
                    if trial.trial.state == "running":
                        await trial.tell(value)
            except LeaseLost:
                continue
            except GnomonError:
                raise
            except Exception as failure:
                state["failure"] = failure
            state["turns"] += 1
            state["worked"] = state["worked"] or trial.trial.state != "failed"


def unwanted(asked: "concurrent.futures.Future[Trial]") -> None:
    with contextlib.suppress(Exception):
        asked.result().give_back("cancelled")


@names_options
class AsyncTrial(Mapping[str, Any]):
    """A trial; a mapping of its parameters, as Trial is."""

    def __init__(self, trial: Trial, threads: Threads) -> None:
        self.trial, self.threads, self.number, self.params = trial, threads, trial.number, trial.params

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    async def tell(self, value: Value, **more: Any) -> None:
        await self.threads.run(self.trial.tell, value, **more)

    async def report(self, step: int, value: Value) -> None:
        await self.threads.run(self.trial.report, step, value)

    async def fail(self, reason: str) -> None:
        await self.threads.run(self.trial.fail, reason)

    async def give_back(self) -> None:
        await self.threads.run(self.trial.give_back)

    async def __aenter__(self) -> "AsyncTrial":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], failure: Optional[BaseException],
                        trace: Optional[TracebackType]) -> bool:
        return await asyncio.shield(self.threads.run(self.trial.__exit__, kind, failure, trace))
