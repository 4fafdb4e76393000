"""One request: repetitions, keys, refusals; a service that goes away, a proxy that breaks connections."""
import itertools
import os
import pickle
import ssl
import threading
import unittest
from unittest import mock

import numpy

import gnomon
from gnomon.errors import refusal
from gnomon.transport import Transport, explained, retry_after
from tests.support import Case, Proxy, branin, scripted, service


class Calls(unittest.TestCase):
    def transport(self, *says, **more):
        url, heard = scripted(*says)
        return Transport(url, "gno_secret", **more), heard

    def test_repeats_with_one_key(self):
        busy = (503, {"Retry-After": 0.01}, {"code": "busy"})
        transport, heard = self.transport((0, {}, {}), busy, (429, {}, {"code": "too_many_requests"}), (200, {}, {"ok": 1}))
        self.assertEqual(transport.call("POST", "/v1/x", {"a": 1}), {"ok": 1})
        self.assertEqual(len({head["Idempotency-Key"] for _, _, head, _ in heard}), 1)
        self.assertEqual({body for *_, body in heard}, {b'{"a": 1}'})
        self.assertEqual(len(heard), 4)
        transport.call("POST", "/v1/x")
        self.assertNotEqual(heard[4][2]["Idempotency-Key"], heard[0][2]["Idempotency-Key"])
        transport.call("GET", "/v1/x")
        self.assertNotIn("Idempotency-Key", heard[5][2])
        self.assertEqual(heard[5][2]["Authorization"], "Bearer gno_secret")

    def test_bytes(self):
        """What is sent and read as it is goes out once."""
        transport, heard = self.transport((200, {}, {"ok": 1}), (409, {}, {"code": "no"}), (200, {}, b"words"), (200, {}, b"a,b\n1,2\n"),
                                          (404, {}, {"code": "study_not_found"}), (502, {}, b"<html>"), (0, {}, {}))
        self.assertEqual(transport.send("PUT", "/v1/x", b"a,b", {"Content-Type": "text/csv"}), {"ok": 1})
        self.assertEqual((heard[0][2]["Content-Type"], heard[0][2]["Authorization"], heard[0][3]), ("text/csv", "Bearer gno_secret", b"a,b"))
        for code in ("no", "not_json"):
            with self.assertRaises(gnomon.GnomonError) as caught:
                transport.send("POST", "/v1/x", b"", {})
            self.assertEqual(caught.exception.code, code)
        self.assertEqual(b"".join(transport.pieces("/v1/y")), b"a,b\n1,2\n")
        for status, code in ((404, "study_not_found"), (502, ""), (599, "no_connection")):
            with self.assertRaises(gnomon.GnomonError) as caught:
                b"".join(transport.pieces("/v1/y"))
            self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        self.assertEqual(len(heard), 7)

    def test_patience_ends(self):
        transport, heard = self.transport(*[(503, {}, {"code": "busy"})] * 9, patience=0.2)
        with self.assertRaises(gnomon.Unavailable) as caught:
            transport.call("GET", "/v1/x")
        self.assertEqual((caught.exception.status, caught.exception.code), (503, "busy"))
        self.assertLess(len(heard), 9)
        with self.assertRaisesRegex(gnomon.Unavailable, "no_connection"):
            Transport("http://127.0.0.1:1", "t", patience=0).call("GET", "/")
        with self.assertRaises(ConnectionError):
            Transport("https://127.0.0.1:1", "t", patience=0).call("GET", "/")

    def test_an_address_that_never_answered(self):
        """Patience begins with the first answer: a wrong address is told soon, and a service that was there is waited for."""
        with mock.patch("gnomon.transport.FIRST_SECONDS", 0.2):
            with self.assertRaisesRegex(gnomon.Unavailable, "nothing has answered at this address yet"):
                Transport("http://127.0.0.1:1", "t", patience=1e6).call("GET", "/")
            transport, heard = self.transport((200, {}, {}), *[(503, {}, {"code": "busy"})] * 2, (200, {}, {"ok": 1}))
            transport.call("GET", "/")
            again = pickle.loads(pickle.dumps(transport))
            self.assertTrue(again.has_answered)
            self.assertEqual(again.call("GET", "/"), {"ok": 1})
        self.assertEqual(len(heard), 4)

    def test_what_stays_refused_is_not_repeated(self):
        for status, kind in ((400, gnomon.Refused), (401, gnomon.Denied), (403, PermissionError), (404, LookupError),
                             (409, gnomon.Conflict), (412, gnomon.Conflict), (422, ValueError), (428, gnomon.Refused),
                             (500, gnomon.Unavailable)):
            transport, heard = self.transport((status, {}, {"code": "c", "detail": "d", "request_id": "r"}))
            with self.assertRaises(kind) as caught:
                transport.call("GET", "/v1/x")
            self.assertEqual((len(heard), str(caught.exception), caught.exception.request_id), (1, "c: d", "r"))
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(again), str(again), again.status), (type(caught.exception), "c: d", status))
        for problem, kind in (({"code": "lease_lost"}, gnomon.LeaseLost), ({"code": "study_differs"}, gnomon.SpaceDiffers),
                              ({"code": "study_completed", "next": "stop"}, gnomon.Finished),
                              ({"code": "study_paused", "next": "wait"}, gnomon.Paused)):
            self.assertIs(type(refusal(409, problem)), kind)

    def test_answers_of_others(self):
        transport, _ = self.transport((502, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, b"<html>"), patience=0)
        with self.assertRaisesRegex(gnomon.Unavailable, "not_json: <html>"):
            transport.call("GET", "/")
        transport, _ = self.transport((404, {}, ["x"]), (200, {}, b""))
        with self.assertRaises(gnomon.NotFound):
            transport.call("GET", "/")
        self.assertIsNone(transport.call("GET", "/"))
        self.assertEqual(retry_after({"Retry-After": "soon"}), 1.0)

    def test_pointers_in_words(self):
        body = {"space": {"parameters": [{"name": "lr", "max": 1}]}, "a/b": [4], "n": None}
        for pointer, words in (("/space/parameters/0/max", 'space["lr"]["max"]'), ("/a~1b/0", "a/b[0]"), ("", ""),
                               ("/n/x", 'n["x"]'), ("/observations/3/value", 'observations[3]["value"]')):
            self.assertEqual(explained({"errors": [{"pointer": pointer}]}, body)["errors"][0]["pointer"], words)
        many = refusal(422, {"code": "c", "errors": [{"pointer": "/a", "detail": "b"}] * 22})
        self.assertEqual(str(many), "c: " + "; /a: b" * 20 + "; and 2 more")
        self.assertIn("label: bad", str(refusal(400, {"errors": [{"parameter": "label", "detail": "bad"}]})))

    def test_address_and_numbers(self):
        for url in ("127.0.0.1:8080", "ftp://x", "http://"):
            with self.assertRaises(ValueError):
                Transport(url, "t")
        transport, heard = self.transport()
        with self.assertRaises(ValueError):
            transport.call("POST", "/", {"x": float("nan")})
        self.assertEqual(heard, [])
        prefixed = Transport(transport.url + "/gnomon/", "t")
        prefixed.call("GET", "/v1/meta")
        self.assertEqual(heard[0][1], "/gnomon/v1/meta")
        prefixed.call("POST", "/", {"a": numpy.int64(7), "b": [numpy.arange(2), numpy.float32(0.5)]})
        self.assertEqual(heard.pop()[3], b'{"a": 7, "b": [[0, 1], 0.5]}')
        with self.assertRaisesRegex(ValueError, r'\["a"\]\[1\]'):
            transport.call("POST", "/", {"z": 1, "a": [1.0, float("inf")]})
        with self.assertRaisesRegex(TypeError, "object cannot be sent"):
            transport.call("POST", "/", {"a": object()})
        copy = pickle.loads(pickle.dumps(prefixed))
        copy.call("GET", "/v1/meta")
        self.assertEqual(len(heard), 2)

    def test_token(self):
        """As a file has it; what is none is not shown, since it may be one with a letter too many."""
        transport, heard = self.transport()
        Transport(transport.url, " gno_secret\n").call("GET", "/")
        self.assertEqual(heard[0][2]["Authorization"], "Bearer gno_secret")
        for wrong in ("gno\nsecret", "gno secret", "gno_secr\u00e9t", "", None, b"secret"):
            with self.assertRaises(ValueError) as caught:
                Transport(transport.url, wrong)
            self.assertNotIn("secr", str(caught.exception))

    def test_says_once_that_nobody_answers(self):
        busy = (503, {}, {"code": "busy"})
        transport, _ = self.transport(*[busy] * 4)
        with mock.patch.object(transport, "sleep"), self.assertLogs("gnomon", "WARNING") as logged:
            transport.call("GET", "/v1/x")
        self.assertEqual(len(logged.output), 1)
        self.assertIn("GET /v1/x: busy: ; asking again for", logged.output[0])

    def test_tls_that_is_not_believed(self):
        """It would not be at the next try."""
        transport = Transport("https://127.0.0.1:1", "t")
        wrong = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
        wrong.reason = "WRONG_VERSION_NUMBER"
        for failure in (ssl.SSLCertVerificationError(1, "self-signed certificate"), wrong):
            with mock.patch.object(transport, "_connection", side_effect=failure) as tried:
                with self.assertRaisesRegex(gnomon.Unavailable, "no_tls: https://127.0.0.1:1: "):
                    transport.call("GET", "/")
            self.assertEqual(tried.call_count, 1)

    def test_interrupt(self):
        """A thread that waits for an answer, or for its next try, is woken."""
        url, heard = scripted((503, {"Retry-After": 30}, {"code": "busy"}))
        transport, codes = Transport(url, "t", patience=300), []

        def ask():
            try:
                transport.call("GET", "/")
            except gnomon.Unavailable as failure:
                codes.append(failure.code)
            codes.append(transport.call("GET", "/after"))

        thread = threading.Thread(target=ask)
        thread.start()
        while not heard:
            thread.join(0.01)
        transport.interrupt(thread.ident)
        thread.join(60)
        self.assertEqual(codes, ["interrupted", {}])
        transport.interrupt(12345)
        transport.close()


class Broken(Case):
    def test_connections_break_at_any_place(self):
        """Every third exchange breaks before, within or after the answer; each trial is told once, none is lost."""
        plan = itertools.cycle([None, "before", None, None, "after", None, None, "within"])
        proxy = Proxy(int(service().url.rsplit(":", 1)[1]), plan)
        client = gnomon.connect(proxy.url, service().transport.token)
        with mock.patch("gnomon.transport.random.uniform", lambda low, high: 0.01):
            study = client.study(self.id(), {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, trials=25, algorithm="random", seed=1)
            study.optimize(lambda t: branin(**t), workers=3)
            trials = list(study.trials())
        self.assertGreater(proxy.broken, 10)
        self.assertEqual([trial.number for trial in trials], list(range(1, 26)))
        self.assertEqual({trial.state for trial in trials}, {"completed"})
        for trial in trials:
            self.assertEqual(trial.value, branin(**trial.params))


class Connect(unittest.TestCase):
    def test_where_it_is(self):
        import json
        import tempfile
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": folder}):
            for name in ("GNOMON_SERVER", "GNOMON_URL", "GNOMON_TOKEN"):
                os.environ.pop(name, None)
            with self.assertRaisesRegex(ValueError, "GNOMON_SERVER"):
                gnomon.connect()
            with open(os.path.join(folder, "gnomon.json"), "w") as file:
                json.dump({"url": "http://a", "token": "b"}, file)
            for mode in (0o644, 0o640, 0o606):
                os.chmod(file.name, mode)
                with self.assertRaisesRegex(ValueError, f"chmod 600 {file.name}"):
                    gnomon.connect()
            os.chmod(file.name, 0o600)
            self.assertEqual(gnomon.connect().url, "http://a")
            os.environ["GNOMON_URL"] = "http://earlier"
            self.assertEqual(gnomon.connect().url, "http://earlier")
            os.environ["GNOMON_SERVER"] = "http://c"
            self.assertEqual((gnomon.connect().url, gnomon.connect().transport.token), ("http://c", "b"))
            self.assertEqual(gnomon.connect("http://d", "e").url, "http://d")
        with self.assertRaises(AttributeError):
            gnomon.nothing


if __name__ == "__main__":
    unittest.main()
