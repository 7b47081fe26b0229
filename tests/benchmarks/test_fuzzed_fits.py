"""Fuzzed fits: a short run, and that each broken promise is noticed."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from benchmarks.fuzz import fits
from benchmarks.fuzz._fit_cases import BY_DEFAULT, ESTIMATORS, Case, cases
from benchmarks.fuzz._fit_checks import failures
from benchmarks.fuzz._structures import STRUCTURES

OTHERS = tuple(name for name in ESTIMATORS if name not in BY_DEFAULT)
SHORT = settings(
    max_examples=20,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@SHORT
@given(cases(tuple(BY_DEFAULT), most_rows=10, most_columns=3))
def test_by_default(case):
    assert failures(case) == []


@SHORT
@given(cases(OTHERS, most_rows=15, most_columns=4))
def test_other_settings(case):
    assert failures(case) == []


def test_all_public_estimators_are_fuzzed():
    import twofold
    from twofold.base import TwoWayEstimator

    public = {
        name
        for name in twofold.__all__
        if isinstance(getattr(twofold, name), type)
        and (issubclass(getattr(twofold, name), TwoWayEstimator) or name == "TableMap")
    }
    assert public <= set(BY_DEFAULT)
    assert {name: type(model).__name__ for name, model in BY_DEFAULT.items()} == {
        name: name for name in BY_DEFAULT
    }


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_have_rows_and_follow_their_seed(name):
    one, other, labels = Case("SupervisedIsomap", name, 0, 7, 3, seed=5).data()
    assert one.shape == other.shape
    assert len(one) == len(labels) == 7
    np.testing.assert_array_equal(one, Case("UKR", name, 0, 7, 3, seed=5).data()[0])


class Identity:
    """A model that keeps all promises, whose methods the tests break."""

    def fit(self, X, y):
        self.embedding_ = np.asarray(X, dtype=float)
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)

    def inverse_transform(self, Z):
        return np.asarray(Z, dtype=float)

    def sample(self, n_samples, random_state):
        return np.zeros((n_samples, 2))


class Nan(Identity):
    def sample(self, n_samples, random_state):
        return np.full((n_samples, 2), np.nan)


class Remembers(Identity):
    def transform(self, X):
        self.last_ = X.sum()
        return super().transform(X)


class Writes(Identity):
    def transform(self, X):
        X[0] = 0.0
        return super().transform(X)


class Mixes(Identity):
    def transform(self, X):
        return super().transform(X) - np.mean(X)


class Random(Identity):
    def fit(self, X, y):
        super().fit(X, y)
        self.embedding_ = np.random.default_rng().random(len(X))
        return self


class Forgets(Identity):
    def __getstate__(self):
        return {"embedding_": self.embedding_ + 1.0}


class Warns(Identity):
    def fit(self, X, y):
        warnings.warn("nobody wrote this down", UserWarning, stacklevel=1)
        return super().fit(X, y)


class Fails(Identity):
    def transform(self, X):
        raise ZeroDivisionError


class Refuses(Identity):
    def fit(self, X, y):
        raise ValueError("no")


class NeverEnds(Identity):
    def fit(self, X, y):
        while True:
            pass


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        (Identity, []),
        (Nan, ["sample not finite"]),
        (Remembers, ["not pure"]),
        (Writes, ["not pure", "transform depends on the batch"]),
        (Mixes, ["transform depends on the batch"]),
        (Random, ["not deterministic"]),
        (Forgets, ["pickle differs"]),
        (Warns, ["warning in test_fuzzed_fits.py"]),
        (Fails, ["ZeroDivisionError in test_fuzzed_fits.py"]),
        (Refuses, ["ValueError in test_fuzzed_fits.py"]),
        (NeverEnds, ["slow"]),
    ],
)
def test_broken_promises_are_noticed(model, kinds, monkeypatch):
    monkeypatch.setattr(Case, "model", lambda self: model())
    found = failures(Case("UKR", "noise", 0, 6, 2, 0), seconds=0.5)
    assert [kind.split(":")[0] for kind, _ in found] == kinds


def test_command(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(Case, "model", lambda self: Nan())
    case = Case("UKR", "noise", 0, 6, 2, 0)
    assert Case.of(str(case)) == case
    assert fits.main(["--case", str(case)]) == 1
    line = f"sample not finite | {case} | 0% finite"
    assert capsys.readouterr().out.splitlines()[0] == line
    path = tmp_path / "lines.txt"
    assert fits.main(["--count", "5", "--only", "KPlanes", "--output", str(path)]) == 1
    assert len(path.read_text().splitlines()) == 5
    summary = capsys.readouterr().out.splitlines()[-2:]
    assert summary[0] == "5 cases, two fits each; kinds of failure: 1"
    assert summary[1].startswith("5 of 5: sample not finite | KPlanes ")
    monkeypatch.setattr(Case, "model", lambda self: Identity())
    assert fits.main(["--count", "5", "--only", "KPlanes"]) == 0
