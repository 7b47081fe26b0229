"""Peers' tests by adapters: what becomes of a test, tutorials, and published tables."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.manifold import Isomap

from benchmarks.harness import kept
from benchmarks.peers import __main__ as command
from benchmarks.peers import judging, page, tutorials
from benchmarks.peers.adapters import COLUMNS, PEERS, NotShared
from benchmarks.peers.plugin import FAILED, NOT_APPLICABLE, PASSED, UNTOUCHED, replace
from benchmarks.peers.reasons import FAILS
from benchmarks.peers.run import run
from twofold import AgglomerativeIsomap
from twofold.datasets import make_s_curve


@pytest.fixture(scope="module")
def rows():
    return make_s_curve(80, random_state=0)[0]


class TestAdapters:
    @pytest.mark.parametrize("name", COLUMNS)
    def test_parameters_are_those_of_the_peer(self, name):
        peer = PEERS[name.split(",")[0]][0]
        made = COLUMNS[name].make()
        assert made.get_params() == peer().get_params()
        changed = clone(made).set_params(n_components=3)
        assert (made.n_components, changed.n_components) != (3, 2)
        assert type(made).__name__ == peer.__name__

    def test_latents_are_those_of_our_estimator_in_units_of_the_data(self, rows):
        adapted = COLUMNS["isomap, own"].make(n_neighbors=8).fit(rows)
        ours = AgglomerativeIsomap(n_neighbors=8, graph="knn").fit(rows)
        spread = np.sqrt(rows.var(axis=0).sum())
        np.testing.assert_allclose(adapted.embedding_, ours.embedding_ * spread)
        assert list(adapted.get_feature_names_out()) == ["isomap0", "isomap1"]

    def test_what_is_not_shared(self, rows):
        made = COLUMNS["isomap, own"].make
        with pytest.raises(NotShared, match="radius"):
            made(n_neighbors=None, radius=1.0).fit(rows)
        with pytest.raises(NotShared, match="dist_matrix_"):
            _ = made().fit(rows).dist_matrix_

    def test_a_wrapped_peer_gives_the_embedding(self, rows):
        adapted = COLUMNS["isomap, wrapped"].make(n_neighbors=8).fit(rows)
        theirs = Isomap(n_neighbors=8).fit_transform(rows)
        np.testing.assert_allclose(adapted.embedding_, theirs)

    def test_names_are_replaced_in_the_module_alone(self):
        from types import SimpleNamespace

        from sklearn import manifold

        module = SimpleNamespace(manifold=manifold)
        replace(module, "Isomap", str)
        assert module.manifold.Isomap is str
        assert manifold.Isomap is Isomap


def test_a_run_of_few_tests():
    cases = run("isomap, own", "simple_grid or clone_bug or names_out or reconstruction_error")
    found = {one["test"]: one for one in judging.judged("isomap, own", cases)}
    outcomes = {test: one["outcome"] for test, one in found.items()}
    assert outcomes == {
        "test_isomap_simple_grid": PASSED,
        "test_isomap_reconstruction_error": FAILED,
        "test_isomap_clone_bug": NOT_APPLICABLE,
        "test_get_feature_names_out": PASSED,
    }
    assert found["test_isomap_simple_grid"]["cases"][PASSED] == 2
    assert "nbrs_" in found["test_isomap_clone_bug"]["reason"]
    assert judging.wrong("isomap, own", list(found.values())) == []


class TestJudging:
    def test_failures_need_a_reason_and_reasons_a_failure(self):
        (column, test), _ = next(iter(FAILS.items()))
        passing = {"test": test, "case": test, "outcome": PASSED, "reason": ""}
        failing = {"test": "test_new", "case": "test_new", "outcome": FAILED, "reason": "E: why"}
        said = judging.wrong(column, judging.judged(column, [passing, failing]))
        assert len(said) == 2
        assert "E: why" in said[0]
        assert "remove" in said[1]

    def test_cases_of_a_test(self):
        cases = [
            {"test": "t", "case": "t[0]", "outcome": PASSED, "reason": ""},
            {"test": "t", "case": "t[1]", "outcome": NOT_APPLICABLE, "reason": UNTOUCHED},
        ]
        (found,) = judging.judged("isomap, own", cases)
        assert found["outcome"] == PASSED
        cases.append({"test": "t", "case": "t[2]", "outcome": FAILED, "reason": "E: why"})
        (found,) = judging.judged("isomap, own", cases)
        assert (found["outcome"], found["cases"][PASSED]) == (FAILED, 1)


def test_tutorials(capsys):
    """Two quick ones; the others run in the benchmark."""
    chosen = [
        one for one in tutorials.EXAMPLES if one.page in ("plotting, data frames", "callbacks")
    ]
    found = command.tutorials(True, chosen)
    assert [one["error"] for one in found] == [None, None]
    assert found[0]["ours"] == {"rows": 150}
    broken = tutorials.Example("peer", "page", "there", "here", lambda quick: int("no"))
    (failed,) = command.tutorials(True, [broken])
    assert failed["error"].startswith("ValueError")
    assert "**fails**" in page._tutorials(kept.recorded([failed]))


def test_every_example_runs_or_has_a_reason():
    for one in tutorials.EXAMPLES:
        assert (one.run is None) == bool(one.reason), one.page


def test_the_page_is_that_of_the_records():
    assert page.section(kept.read(command.KEPT)) in command.PAGE.read_text(encoding="utf-8")


def test_the_records_have_reasons():
    found = json.loads(command.KEPT.read_text(encoding="utf-8"))
    assert set(found) == set(command.PARTS)
    for name in COLUMNS:
        assert judging.wrong(name, found[name]["figures"]) == []
    assert not [one for one in found[page.TUTORIALS]["figures"] if one["error"]]
