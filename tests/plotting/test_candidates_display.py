"""Candidates: tables, curves along a number, weights of a penalty."""

import numpy as np
import pytest
from drawn_models import is_drawn, model_of
from numpy.testing import assert_allclose

from twofold.plotting import CandidatesDisplay

TABLES = {
    "ukr-2": ("cv_error", "leave-one-out error"),
    "ukr-quartic": ("cv_error", "leave-one-out error"),
    "drur": ("energy", "energy after one iteration"),
    "two_way": ("error", "share of held-out variance lost"),
    "box": ("value", "functional after a few iterations"),
}


@pytest.mark.parametrize("name", TABLES)
def test_candidates_are_those_of_the_model(name, tmp_path):
    model, _ = model_of(name)
    key, measure = TABLES[name]
    display = CandidatesDisplay.from_estimator(model)
    assert_allclose(display.errors, [row[key] for row in model.candidates_])
    curves = name.startswith("ukr")
    axis = display.ax_.get_ylabel() if curves else display.ax_.get_xlabel()
    assert axis == measure
    drawn = np.concatenate(
        [line.get_ydata() if curves else line.get_xdata() for line in display.lines_]
    )
    assert np.isclose(drawn[:, None], display.errors).any(axis=0).all()
    if not curves:
        (taken,) = display.lines_[1].get_xdata()
        assert taken == display.errors.min()
        names = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert len(names) == len(model.candidates_)
    assert is_drawn(display, tmp_path)


def test_candidates_along_their_neighbors():
    display = CandidatesDisplay.from_estimators(
        {k: model_of(k)[0] for k in ("ukr-2", "ukr-quartic")}
    )
    assert display.ax_.get_xlabel() == "neighbors"
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names[:3] == ["ukr-2, isomap", "ukr-2, pca", "ukr-quartic, isomap"]
    assert names[3].startswith("ukr-2, after the fit (")
    for line, name in zip(display.lines_, names, strict=False):
        if name.endswith("pca"):
            continue
        model, _ = model_of(name.split(",")[0])
        errors = {row["name"]: row["cv_error"] for row in model.candidates_}
        assert list(line.get_xdata()) == [6.0, 8.0]
        assert_allclose(line.get_ydata(), [errors["isomap:6"], errors["isomap:8"]])
    levels = display.ax_.lines[-2].get_ydata()
    assert_allclose(levels, model_of("ukr-2")[0].cv_error_)


def test_weights_of_a_penalty():
    model, _ = model_of("circle")
    display = CandidatesDisplay.from_estimator(model)
    (line,) = display.lines_
    assert_allclose(np.sort(line.get_xdata()), np.sort(model.alphas_))
    order = np.argsort(model.alphas_)
    assert_allclose(line.get_ydata(), model.cv_errors_.mean(axis=1)[order])
    ring = display.ax_.lines[-1]
    assert_allclose(ring.get_xdata(), [model.alpha_])
    assert display.ax_.get_xscale() == "log"


def test_what_candidates_refuse():
    with pytest.raises(ValueError, match="has compared no candidates"):
        CandidatesDisplay.from_estimator(model_of("isomap")[0])
    with pytest.raises(ValueError, match="measure different errors"):
        CandidatesDisplay.from_estimators({"a": model_of("drur")[0], "b": model_of("ukr-2")[0]})
    with pytest.raises(ValueError, match="models is empty"):
        CandidatesDisplay.from_estimators({})
    with pytest.raises(ValueError, match="give one for each"):
        CandidatesDisplay(names=["a"], errors=[1.0, 2.0])
