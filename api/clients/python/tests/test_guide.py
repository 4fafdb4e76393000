"""Every example of the guide, in one program."""
import contextlib
import io
import os
import re
import unittest

import matplotlib

from tests.support import ROOT

matplotlib.use("Agg")


class Guide(unittest.TestCase):
    def test_examples(self):
        with open(os.path.join(ROOT, "GUIDE.md"), encoding="utf-8") as file:
            blocks = re.findall(r"(?ms)^```python\n(.*?)^```", file.read())
        self.assertGreater(len(blocks), 8)
        names = {"__name__": "guide"}
        with contextlib.redirect_stdout(io.StringIO()):
            for block in blocks:
                with self.subTest(block=block):
                    exec(compile(block, "GUIDE.md", "exec"), names)


if __name__ == "__main__":
    unittest.main()
