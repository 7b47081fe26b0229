"""Methods for the tests of the growth of costs."""

import fake_rivals

from benchmarks.growth.methods import Measured


class Labelled(fake_rivals.Linear):
    def fit(self, X, y):
        assert len(X) == len(y)
        return super().fit(X)


def _measured(kind, **more):
    return Measured(kind.__name__, lambda seed, threads: kind(), "as it comes", **more)


METHODS = [
    _measured(fake_rivals.Linear, ours=True),
    _measured(Labelled, ours=True, labels=True),
    _measured(fake_rivals.Sociable),
    _measured(fake_rivals.OneWay, first_call=True),
    _measured(fake_rivals.Raiser),
    Measured("Missing", lambda seed, threads: None, "", package="a-package"),
]
