"""GnomonSearchCV: scikit-learn's own checks of estimators, and what it finds."""
import os
import unittest
import warnings
from unittest import mock

import numpy
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import gnomon
from tests.support import Uncounted, service


class Search(unittest.TestCase):
    def test_checks_of_scikit_learn(self):
        with warnings.catch_warnings(), Uncounted():
            warnings.simplefilter("ignore")
            check_estimator(gnomon.GnomonSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-6]}, n_iter=2, cv=2, client=service(),
                                                  algorithm="random", random_state=0))

    def test_finds(self):
        X, y = load_digits(n_class=4, return_X_y=True)
        search = gnomon.GnomonSearchCV(SVC(), {"C": (1e-2, 1e3, "log"), "gamma": (1e-6, 1e-1, "log")}, n_iter=8, batch=2, cv=2,
                                       random_state=1, study="svm", client=service())
        search.fit(X[:200], y[:200])
        self.assertGreater(search.best_score_, 0.9)
        self.assertEqual(search.best_params_, service().study("svm").best.params)
        self.assertEqual((len(search.cv_results_["params"]), search.score(X, y) > 0.9), (8, True))
        with self.assertRaisesRegex(ValueError, "the study 'svm' has ended"):
            search.fit(X[:200], y[:200])

    def test_where_and_failures(self):
        X, y = numpy.arange(20.0)[:, None], numpy.arange(20.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with mock.patch.dict(os.environ, {"GNOMON_SERVER": service().url, "GNOMON_TOKEN": service().transport.token}):
                search = gnomon.GnomonSearchCV(Ridge(), {"alpha": [-1.0, 1.0, 2.0]}, n_iter=3, study="bad", cv=2).fit(X, y)
            self.assertEqual(search.best_params_["alpha"] > 0, True)
            self.assertEqual(sorted(t.state for t in service().study("bad").trials()), ["completed", "completed", "infeasible"])
            with mock.patch.dict(os.environ):
                os.environ.pop("GNOMON_SERVER", None)
                gnomon.GnomonSearchCV(Ridge(), {"alpha": (0.1, 1.0)}, n_iter=2, cv=2).fit(X, y)
            with self.assertRaises(ValueError):
                gnomon.GnomonSearchCV(Ridge(), {"alpha": [-1.0, -2.0]}, n_iter=2, cv=2, study="raises", client=service(),
                                      error_score="raise").fit(X, y)
            with self.assertRaisesRegex(ValueError, "fits failed"):
                gnomon.GnomonSearchCV(Ridge(), {"alpha": [-1.0, -2.0]}, n_iter=2, cv=2, client=service()).fit(X, y)
        self.assertEqual([t.state for t in service().study("raises").trials()], ["queued"])


if __name__ == "__main__":
    unittest.main()
