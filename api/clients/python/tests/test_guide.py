"""Every example of each guide, in one program."""
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import matplotlib
import optuna

import gnomon.aio
import gnomon.frame
import gnomon.plots
import gnomon.search  # not first by an example, where nothing is counted

from tests.support import ROOT, Uncounted, service

matplotlib.use("Agg")


class Guide(unittest.TestCase):
    def run_examples(self, name, at_least):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            blocks = re.findall(r"(?ms)^```python\n(.*?)^```", file.read())
        self.assertGreaterEqual(len(blocks), at_least)
        names = {"__name__": "guide"}
        with contextlib.redirect_stdout(io.StringIO()), Uncounted():
            for block in blocks:
                with self.subTest(block=block):
                    exec(compile(block, name, "exec"), names)

    def test_guide(self):
        self.run_examples("GUIDE.md", 9)

    def test_command(self):
        """The lines of the shell, where there is a history of Optuna's."""
        with open(os.path.join(ROOT, "GUIDE.md"), encoding="utf-8") as file:
            lines = re.findall(r"(?m)^    (.*)", re.sub(r"(?ms)^```.*?^```", "", file.read()))
        self.assertGreaterEqual(len(lines), 1)
        with tempfile.TemporaryDirectory() as folder, Uncounted():
            optuna.create_study(storage=f"sqlite:///{folder}/optuna.db", study_name="theirs").optimize(
                lambda t: t.suggest_float("x", -10, 10) ** 2, n_trials=3)
            for line in lines:
                name, *words = shlex.split(line)
                self.assertEqual(name, "python3")
                ran = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, env={
                    **os.environ, "PYTHONPATH": ROOT, "GNOMON_SERVER": service().url, "GNOMON_TOKEN": service().transport.token})
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), line)
                self.assertIn("theirs: 3 imported", ran.stdout)

    def test_moving(self):
        self.run_examples("MOVING.md", 3)


if __name__ == "__main__":
    unittest.main()
