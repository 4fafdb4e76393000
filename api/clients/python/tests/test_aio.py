"""The same with await."""
import asyncio
import threading
import unittest
import unittest.mock

import gnomon
from tests.support import Case, branin, service


class Awaited(Case):
    def run_in(self, main, **more):
        async def go():
            client = gnomon.AsyncClient(service())
            study = await client.study(self.id(), {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, algorithm="random", **more)
            try:
                return await main(client, study)
            finally:
                client.threads.pool.shutdown()

        return asyncio.run(go())

    def test_optimize(self):
        async def main(client, study):
            running, most = [0], [0]

            async def f(trial):
                running[0] += 1
                most[0] = max(most[0], running[0])
                await asyncio.sleep(0.02)
                running[0] -= 1
                if trial.number == 2:
                    raise ValueError("odd")
                return branin(**trial)

            with self.assertRaises(ValueError):
                await study.optimize(f, workers=0)
            await study.optimize(f, workers=4)
            self.assertGreater(most[0], 1)
            self.assertEqual(study.study["state"], "completed")
            trials = await study.trials()
            self.assertEqual((await study.best()).value, min(t.value for t in trials if t.value is not None))
            self.assertEqual((await client.call("GET", study.study.path))["state"], "completed")
            return [t.state for t in trials]

        states = self.run_in(main, trials=10)
        self.assertEqual((states.count("completed"), states[1]), (10, "failed"))

    def test_ask_and_tell(self):
        async def main(client, study):
            async for trial in study:
                async with trial:
                    await trial.report(1, 2.0)
                    if trial.number == 1:
                        await trial.tell(2.0)
                    elif trial.number == 2:
                        await trial.fail("no")
                    else:
                        self.assertEqual((len(trial), sorted(trial), trial["x"]), (2, ["x", "y"], trial.params["x"]))
                        await trial.give_back()
                        break
            await study.tell({"x": 1.0, "y": 1.0}, 3.0)
            await study.run(gnomon.Study.complete)
            self.assertEqual([trial async for trial in study], [])
            return await study.trials()

        self.assertEqual([t.state for t in self.run_in(main, stopping={"rule": "none", "epochs": 3})],
                         ["completed", "failed", "abandoned", "completed"])

    def test_cancelled(self):
        async def main(client, study):
            held = await study.ask()  # the only one
            submit, asked, is_over = client.threads.pool.submit, [], threading.Event()

            def keep(call):
                asked.append(submit(call))
                return asked[-1]

            with unittest.mock.patch.object(client.threads.pool, "submit", keep):
                asking = asyncio.ensure_future(study.ask())
                while not asked:
                    await asyncio.sleep(0)
            asking.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await asking
            asked[0].add_done_callback(lambda _: is_over.set())  # after that which gives back what came
            await held.give_back()
            await client.threads.run(is_over.wait, 300)

            async def f(trial):
                asking.cancel()
                raise RuntimeError("always")

            with self.assertRaises(RuntimeError):
                await study.optimize(f, trials=9)
            for expected in (RuntimeError, gnomon.Finished):  # the tenth ends the study
                with self.assertRaises(expected):
                    await study.optimize(f)
            self.assertEqual((await study.run(gnomon.Study.refresh))["reason"], "too_many_failures")
            await study.run(gnomon.Study.reopen)

            async def loses(trial):
                trial.trial.study._post("/observe", {"trial": trial.number, "value": 7.5})
                return 1.0

            async def refused(trial):
                return {"unheard": 1.0, "of": 2.0}

            await study.optimize(loses, trials=1)
            await study.run(gnomon.Study.reopen)
            await study.run(gnomon.Study.edit, budget={"trials": 2})
            with self.assertRaises(gnomon.Refused):
                await study.optimize(refused, trials=1)

            async def tells(trial):
                await trial.tell(1.0)

            await study.optimize(tells, trials=1)
            await client.close()

        self.run_in(main, trials=1)


if __name__ == "__main__":
    unittest.main()
