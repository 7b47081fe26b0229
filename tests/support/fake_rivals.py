"""Methods that behave and misbehave, for the tests of the benchmark's machinery."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.rivals.method import Method
from benchmarks.rivals.references import Lookup


def sheet(n=120, seed=0):
    """Return a noisy plane in six dimensions and its parameters."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1.0, 1.0, (n, 2))
    return truth @ rng.standard_normal((2, 6)) + 0.05 * rng.standard_normal((n, 6)), truth


class Linear:
    """Principal components: everything a method can have."""

    def fit(self, X):
        counter = os.environ.get("FAKE_RIVALS_COUNTER")
        if counter:
            with Path(counter).open("a") as file:
                file.write("fit\n")
        self._mean = X.mean(axis=0)
        self._axes = np.linalg.svd(X - self._mean, full_matrices=False)[2][:2]
        return self

    def transform(self, X):
        return (X - self._mean) @ self._axes.T

    def inverse_transform(self, Z):
        return Z @ self._axes + self._mean


class OneWay(Linear):
    inverse_transform = None


class Nowhere(OneWay):
    transform = None


class Gregarious(Linear):
    """Rows depend on the batch, and fits on the clock."""

    def transform(self, X):
        return super().transform(X) - X.mean() + time.perf_counter() % 1.0


class Sociable(Linear):
    """Cannot take one row alone."""

    def transform(self, X):
        if len(X) == 1:
            raise TypeError("one row is no table")
        return super().transform(X)


class Undefined(Linear):
    def transform(self, X):
        return np.full((len(X), 2), np.nan)


class Sleeper(Linear):
    def fit(self, X):
        time.sleep(60)


class Hog(Linear):
    def fit(self, X):
        self.much = []
        for _ in range(100):
            self.much.append(np.ones(4 * 2**20))  # 32 MB
            time.sleep(0.02)
        time.sleep(60)


class HogOnTheWayBack(Linear):
    def inverse_transform(self, Z):
        Hog().fit(Z)


class HogByProxy(Linear):
    def fit(self, X):
        code = "import time; much = bytearray(b'1') * (600 * 2**20); time.sleep(60)"
        subprocess.run([sys.executable, "-c", code], check=True)


class Killed(Linear):
    def fit(self, X):
        os.kill(os.getpid(), signal.SIGKILL)


class Raiser(Linear):
    def fit(self, X):
        raise RuntimeError("no luck | today")


def _missing(seed, threads):
    import a_package_that_nobody_has  # noqa: F401


def _method(kind, **more):
    return Method(kind.__name__, lambda seed, threads: kind(), "as it comes", **more)


METHODS = [
    _method(Linear, ours=True),
    _method(OneWay, seeded=False),
    *map(
        _method, (Gregarious, Undefined, Sleeper, Hog, HogOnTheWayBack, HogByProxy, Killed, Raiser)
    ),
    Method(
        "Lookup",
        lambda seed, threads: Lookup(1, threads),
        "",
        reference=True,
        seeded=False,
        times_first_call=False,
    ),
    Method("Missing", _missing, "", package="a-package"),
]
