"""gnomon study and gnomon work, as far as they are functions: what a program is given, what is read of it, sweeps, tables, options."""
import contextlib
import io
import math
import unittest

from gnomon import shell, studies, work
from gnomon.errors import refusal
from gnomon.shell import Failure

PLANTED = "x; touch y"


def of(*rows):
    return {"space": {"parameters": list(rows)}}


class Given(unittest.TestCase):
    def test_program(self):
        study, point = of({"name": "lr"}, {"name": "n"}, {"name": "off"}), {"lr": 0.0031, "n": -4, "c": True}
        flags = ["--lr=0.0031", "--n=-4", "--c=true"]
        for words, wanted, wants_flags in (
                (["train"], ["train", *flags], True), (["train"], ["train"], False),
                (["train", "{lr}x{n}{off}{"], ["train", "0.0031x-4{"], True),
                (["awk", "{print} {{lr}}"], ["awk", "{print} {0.0031}"], True), (["a", "{c}"], ["a", "{c}", *flags], True)):
            self.assertEqual(work.words_of(words, study, point, wants_flags), wanted)

    def test_values_that_a_shell_may_read(self):
        for values, words, flags, is_refused in (
                (["adam", "a-b/c_1.5+e", 3, -1.5, True, None], "sh -c {opt}", True, False), ([PLANTED], "sh -c {opt}", True, True),
                (["`id`"], "/opt/run {opt}", True, True), (["adam", "$(id)"], "train --opt={n}{opt}", True, True),
                (["a b"], "train {opt}", True, True), (["a\nb"], "train {opt}", True, True), (["\u00e4"], "train {opt}", True, True),
                (["--config"], "train {opt}", True, True), ([PLANTED], "sh -c {n}", True, False), ([PLANTED], "train $@ sh", True, False),
                ([[64, [32, -1.5, None]]], "sh -c {opt}", True, False), ([[PLANTED]], "sh -c {opt}", True, True),
                ([[64, [32, "a"]]], "sh -c {opt}", True, True), ([{"$(id)": 1}], "sh -c {opt}", True, True), ([[PLANTED]], "sh -c {n}", True, False),
                ([[PLANTED]], "ssh host train", True, True), ([[64]], "ssh host train", True, False),
                ([PLANTED], "/usr/bin/ssh host train", True, True), ([PLANTED], "srun ssh host", True, True),
                ([PLANTED], "ssh host train", False, False), (["--config"], "ssh host train", True, False), (["adam\n"], "a {opt}", True, True)):
            study = of({"name": "n", "type": "int", "min": -1, "max": 4}, {"name": "opt", "values": values})
            with self.subTest(values=values, words=words), self.assertRaises(Failure) if is_refused else contextlib.nullcontext() as told:
                work.check_program(words.split(" "), study, flags)
            if is_refused:
                self.assertEqual(told.exception.code, shell.USAGE)
                self.assertIn("--as ", str(told.exception))

    def test_points(self):
        study = of({"name": "x", "type": "double", "min": -1, "max": 2}, {"name": "n", "type": "int", "min": 1, "max": 9},
                   {"name": "d", "type": "discrete", "values": [8, 16]}, {"name": "later", "type": "vector", "values": [1]},
                   {"name": "c", "type": "categorical", "values": ["adam", None, True]},
                   {"name": "e", "type": "categorical", "values": [1.5]})
        for point in ({"x": -0.5, "n": 3, "d": 8, "c": "adam", "e": 1.5}, {"x": 2, "n": 3.0, "d": 16.0, "c": None}, {}):
            work.check_point(study, point)
        for point in ({"x": 2.385}, {"x": "1; id"}, {"x": True}, {"n": 2.5}, {"n": 10}, {"d": 9}, {"d": "8"}, {"c": "x; id"},
                      {"c": ["adam"]}, {"c": 1}, {"other": 1}, {"later": 1}, ["x"], None, {"c": "ADAM"}, {"": 1}):
            with self.subTest(point=point), self.assertRaises(Failure):
                work.check_point(study, point)

    def test_ids(self):
        self.assertTrue(shell.DRAWN.fullmatch("std_abcdefghij234567"))
        for text in ("", "std_", "std_abcdefghij23456", "std_abcdefghij2345677", "fed_abcdefghij234567", "std_../../../../etc/",
                     "std_abcdefghij23456/", "std_ABCDEFGHIJ234567", "../../pwned", "std_abcdefghij23456\n"):
            self.assertFalse(shell.DRAWN.fullmatch(text), text)


class Said(unittest.TestCase):
    def test_steps(self):
        for pattern, line, wanted in (
                ("{step} {value}", "12 0.871", (12, 0.871)), ("{step} {value}", "  12\t -8.71e-3 \r", (12, -8.71e-3)),
                ("{step} {value}", "12 0.871 3", None), ("{step} {value}", "12", None), ("{step} {value}", "1.5 0.871", None),
                ("{step} {value}", "one 0.871", None), ("{step} {value}", "", None), ("{value}@{step}", "2.5@7", (7, 2.5)),
                ("epoch {step}: loss {value} s", "epoch 3:  loss 2.5 s", (3, 2.5)), ("epoch {step}: loss {value} s", "epoch 3: loss 2.5", None),
                ("epoch {step}: loss {value} s", "epoch 3:loss 2.5 s", None), ("a.{step} {value}", "ab1 2", None), ("{step} {value}", "1" * 5000 + " 2", None)):
            match = work.pattern_of(pattern).fullmatch(line)
            self.assertEqual(match and (int(match["step"]), float(match["value"])), wanted, (pattern, line))
        for pattern in ("{step}", "{step} {step} {value}"):
            self.assertRaises(Failure, work.pattern_of, pattern)
        match = work.pattern_of("{step}: {run time} s, {a.b}", ["a.b", "run time"]).fullmatch("3: 2.5 s, 0.1")
        self.assertEqual(match and match.groupdict(), {"step": "3", "value": "0.1", "value1": "2.5"})
        self.assertRaises(Failure, work.pattern_of, "{step} {value}", ["a.b", "run time"])

    def test_results(self):
        for text, wanted in (
                ("0.913", {"acc": 0.913}), (" -2e3 \n", {"acc": -2000.0}), ("acc=0.5", {"acc": 0.5}),
                ("acc: 0.5, cost 3", {"acc": 0.5, "cost": 3.0}), ('{"acc": 1, "cost": 2.5, "note": "x"}', {"acc": 1, "cost": 2.5}),
                ("acc=inf", {"acc": math.inf}), ('{"acc": 1%s}' % ("0" * 400), {"acc": math.inf}), ('{"acc": 1%s}' % ("0" * 5000), None), ("", None), ("0.913 0.5", None), ("acc", None), ("acc=0.5x", None), ("loss=0.5", None),
                ('{"acc": "1"}', None), ('{"acc": true}', None), ('{"note": 1}', None), ("{", None), ("[" * 100000, None),
                ("best accuracy so far", None)):
            self.assertEqual(work.result_of(text, ["acc", "cost"]), wanted, text)
        self.assertTrue(math.isnan(work.result_of("nan", ["acc"])["acc"]))

    def test_lines(self):
        self.assertEqual(work.lines_of("\x1b]0;title\x07\x1b[1;32mx=1\x1b[0m\x1b[K\x1b(B\r2\0\n"), ["x=1", "2 ", ""])
        self.assertEqual(shell.plain("a\x1b[1m\x85\u202e\udcff\ud800\u00e4"), r"a\x1b[1m\xc2\x85\xe2\x80\xae\xff\xed\xa0\x80" + "\u00e4")


class Sweeps(unittest.TestCase):
    def test_same_as_json(self):
        for text, wanted in (
                ("v: [1, -2, +3, 010, 9007199254740993]", {"v": [1, -2, 3, 10, 9007199254740993]}),
                ("v: [1e-5, 1E5, -.5, 1., 2.385e+1]", {"v": [1e-5, 1e5, -0.5, 1.0, 23.85]}), ("v: [99999999999999999999]", {"v": [1e20]}),
                ("v: [true, False, ~, null, ]", {"v": [True, False, None, None]}), ("v:", {"v": None}),
                ("v: [no, on, y, 1:30, 0x10, 1_0, 2026-11-23, 1e, 1e999, ., +, ++1, .inf]", {"v": [
                    "no", "on", "y", "1:30", "0x10", "1_0", "2026-11-23", "1e", "1e999", ".", "+", "++1", ".inf"]}),
                ("v: [\"1\", '2', \"a\\u00e9\\\"\", 'it''s']", {"v": ["1", "2", "a\u00e9\"", "it's"]}),
                ("v: |\n  two\n  lines\n", {"v": "two\nlines\n"}), ("v: &a []\n1: {}", {"v": [], "1": {}}),
                ("# why\nspace:\n  parameters:\n  - {name: lr, min: 1e-5} # log\n  - name: n\n    when: {lr: [1]}\n", {
                    "space": {"parameters": [{"name": "lr", "min": 1e-5}, {"name": "n", "when": {"lr": [1]}}]}})):
            self.assertEqual(studies.sweep_of("-", b"name: s\n" + text.encode()), {"name": "s", **wanted})
        for path, text in (("a.json", b'{"name": "s"}'), ("a.json", b"name: s"), ("a.yaml", b"{name: s}")):
            self.assertEqual(studies.sweep_of(path, text), {"name": "s"})

    def test_refused(self):
        for path, text, why in (
                ("s.yaml", b"a: &a [x, x]\nb: [*a, *a]\nname: s", "line 2: aliases are not taken"),
                ("s.yaml", b"name: !!python/object:os.system s", "line 1: tags are not taken"),
                ("s.yaml", b"name: s\nv: !t {a: 1}", "line 2: tags are not taken"), ("s.yaml", b"name: s\nv: ! [1]", "line 2: tags are not taken"),
                ("s.yaml", b"name: s\n[v]: 1", "line 2: a name is a text"), ("s.yaml", b'name: s\n"v\\0w": 1', "line 2: a name is a text"),
                ("s.yaml", b"name: s\nv: {w: 1,\n w: 2}", "line 3: the same name twice"), ("s.yaml", b"name: s\n---\nname: t", "line 2: a second document"),
                ("s.yaml", b"# nothing\n", "there is nothing in it"), ("s.yaml", b"", "there is nothing in it"),
                ("s.yaml", b"name: s\nv: [1, 2\nw: 3", "line 3: "), ("s.yaml", b"name: \xff", "line 1: "), ("s.yaml", b"name: s\n\tv: 1", "line 2: "),
                ("a.json", b"{name: s}", "line 1, column 2: "), ("-", b'{"name": "s",}', "standard input, line 1, column 14: "), ("-", b' \n{"name": "s", "name": "t"}', "the same name twice"),
                ("a", b"goal: x", "needs a name"), ("a", b"- name", "needs a name"), ("a", b"name: 7", "needs a name"),
                ("a", b'{"name": "s", "v": ' + b"[" * 100000, "nested too deep"),
                *(("s.yaml", mark * (2 ** 20 // len(mark)), "nested too deep") for mark in (b"[", b"- ", b"{a: ", b"[{a: "))):
            with self.subTest(text=text[:40]), self.assertRaises(Failure) as told:
                studies.sweep_of(path, text)
            self.assertIn(why, str(told.exception))


class Shown(unittest.TestCase):
    def test_a_table(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            studies.table([("trial", "lr", "name"), ("1", "0.0031", "a"), ("12", "4", "b\x1b"), ("3", "", "")])
        self.assertEqual(out.getvalue(), "trial      lr  name\n    1  0.0031  a\n   12  4       b\\x1b\n    3\n")
        self.assertEqual([studies.took(seconds) for seconds in (151, 3751.5, None)], ["2:31", "1:02:31", ""])
        self.assertEqual([studies.cell(value) for value in (0.1 + 0.2, True, None, "a", 7)], ["0.3", "true", "", "a", "7"])

    def test_names_that_a_shell_cannot_read(self):
        self.assertEqual(work.variables({"lr": 0.5, "model.lr": 2, "a/b": 1, "a b": 3}), {
            "PARAM_lr": "0.5", "PARAM_model.lr": "2", "PARAM_model_lr": "2", "PARAM_a/b": "1", "PARAM_a b": "3"})
        self.assertEqual(work.variables({"a.b": 1, "a_b": 2}), {"PARAM_a.b": "1", "PARAM_a_b": "2"})

    def test_every_mistake(self):
        one, two = {"pointer": "/a", "detail": "a is wrong"}, {"parameter": "b", "detail": "b is wrong"}
        self.assertEqual(shell.told(refusal(422, {"detail": "a is wrong", "errors": [one]})), "a is wrong (HTTP 422) at /a")
        self.assertEqual(shell.told(refusal(422, {"detail": "a is wrong (1 more problem is in errors)", "errors": [one, two]})),
                         "2 mistakes (HTTP 422):\n  /a: a is wrong\n  b: b is wrong")
        self.assertEqual(shell.told(refusal(409, {"detail": "it differs", "errors": [{"pointer": "/max", "detail": "max is 2"}]})),
                         "it differs (HTTP 409) at /max: max is 2")
        self.assertEqual([studies.differs(wanted, {"trials": 5, "seconds": 9}) for wanted in ({"trials": 5.0}, {"trials": 6}, {"cost": 1})],
                         [False, True, True])
        with self.assertRaises(Failure) as told:
            studies.run({}, ["creat"], None)
        self.assertIn("delete; did you mean create?", str(told.exception))

    def test_options(self):
        found, operands = shell.read(work.TABLE, ["--study=s", "--parallel", "3", "x", "--insecure-http"])
        self.assertEqual([found[name] for name in ("study", "parallel", "as", "insecure-http")] + operands, ["s", 3, "flags", True, "x"])
        for words, why in ((["--stud", "s"], "did you mean --study?"), (["--parallel", "0", "--study", "s"], "not in 1..1024"),
                           (["--parallel", "two"], "a whole number"), (["--as", "x"], "one of flags|env|json"),
                           (["--as", "jsn"], "; did you mean json?"), ([], "--study is missing"),
                           (["--study"], "needs a value"), (["--insecure-http=no"], "takes 0 or 1")):
            with self.assertRaises(Failure) as told:
                shell.read(work.TABLE, words)
            self.assertIn(why, str(told.exception))
            self.assertEqual(told.exception.code, shell.USAGE)
