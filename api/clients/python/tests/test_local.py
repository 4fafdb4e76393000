"""A service of one's own."""
import os
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import gnomon


class Locally(unittest.TestCase):
    def test_comes_and_goes(self):
        with gnomon.local() as g:
            folder = g.folder
            self.assertEqual(g.call("GET", "/v1/whoami")["scope"], "admin")
            self.assertTrue(os.path.exists(folder))
        self.assertFalse(os.path.exists(folder))
        g.close()

    def test_folder_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            with gnomon.local(folder) as g:
                g.study("s", {"x": (0.0, 1.0)}, trials=1).optimize(lambda t: t["x"])
                with self.assertRaisesRegex(RuntimeError, "did not start"):
                    gnomon.local(folder)
            with gnomon.local(folder) as g:
                self.assertEqual(g.study("s").state, "completed")
            pid = g._owner
            self.assertEqual(pid, os.getpid())

    def test_its_program_is_killed(self):
        """kill -9 of the program that started the service: the service ends, and the folder is free again."""
        with tempfile.TemporaryDirectory() as folder:
            program = subprocess.Popen([sys.executable, "-c", f"import gnomon, time; gnomon.local({folder!r}); print(1, flush=True); time.sleep(600)"],
                                       stdout=subprocess.PIPE)
            self.assertEqual(program.stdout.readline(), b"1\n")
            program.kill()
            program.communicate()
            for again in range(100):
                try:
                    gnomon.local(folder).close()
                    break
                except RuntimeError:
                    time.sleep(0.1)
            else:
                self.fail("the service goes on")

    def test_not_there(self):
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            os.environ.pop("GNOMON", None)
            with self.assertRaisesRegex(FileNotFoundError, "no program"):
                gnomon.local()

    def test_does_not_stop(self):
        g = gnomon.local()
        process = g._process
        with mock.patch.object(process, "wait", side_effect=[subprocess.TimeoutExpired("gnomon", 30), 0]), \
                mock.patch.object(process, "terminate"):
            g.close()
        process.wait()
        self.assertEqual(process.returncode, -9)


if __name__ == "__main__":
    unittest.main()
