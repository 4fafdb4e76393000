"""Every example of each guide, in one program."""
import contextlib
import io
import os
import re
import unittest

import matplotlib

import gnomon.aio
import gnomon.frame
import gnomon.plots
import gnomon.search  # not first by an example, where nothing is counted

from tests.support import ROOT, Uncounted

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

    def test_moving(self):
        self.run_examples("MOVING.md", 3)


if __name__ == "__main__":
    unittest.main()
