"""The HTML of fitted models: a summary and a small map that loads nothing."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris

from twofold import AutoTwoWay, TableMap, TwoWay
from twofold.base.small_map import MOST_DOTS, small_map


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def dots(svg):
    return np.array(re.findall(r"M([\d.]+) ([\d.]+)h0", svg), dtype=float)


def assert_is_a_small_map(svg, n_rows):
    width, height = map(float, re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    places = dots(svg)
    assert len(places) == min(n_rows, MOST_DOTS)
    assert (places >= 0).all()
    assert (places <= [width, height]).all()
    assert len(svg) < 30_000
    tags = Tags(svg).found
    assert [tag for tag, _ in tags] == ["svg", "title", "path"]
    assert tags[0][1]["role"] == "img"
    assert tags[0][1]["aria-label"].startswith("Map of ")
    assert "url(" not in svg
    assert "href" not in svg


@pytest.mark.parametrize("q", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [1, 2, 30, 5_000])
@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300, 0.0])
def test_maps_of_latents(n, q, scale):
    Z = scale * np.random.default_rng(0).normal(size=(n, q))
    assert_is_a_small_map(small_map(Z), n)


def test_the_map_keeps_the_shape_of_the_latents():
    Z = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1e-3, 1.0]])
    places = dots(small_map(Z + 5.0))
    sides = np.diff(places, axis=0)
    assert sides[0, 1] == pytest.approx(0.0, abs=0.1)
    assert sides[0, 0] == pytest.approx(2.0 * -sides[1, 1], abs=0.3)
    assert sides[1, 1] < 0.0  # upward


def test_a_line_is_thick_where_many_rows_are():
    Z = np.concatenate([np.full(200, 0.0), np.linspace(0.5, 1.0, 20)])[:, None]
    places = dots(small_map(Z))
    assert np.ptp(places[:200, 1]) > 5 * np.ptp(places[200:, 1])


def test_rows_beyond_the_first_two_axes_are_seen():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(100, 4)) * [0.01, 0.01, 5.0, 3.0]
    places = dots(small_map(Z))
    assert np.ptp(places, axis=0).min() > 50


def test_fitted_models_show_their_map():
    X = load_iris().data
    quick = TwoWay("pca", up="nw", down="nw")
    table = TableMap(quick).fit(pd.DataFrame(X, columns=list("abcd")))
    for model in (quick.fit(X), table, AutoTwoWay(methods={"pca": quick}, random_state=0).fit(X)):
        html = model._repr_mimebundle_()["text/html"]
        assert html.count('aria-label="Map of 150 rows: two latents"') == 1
        assert "twofold-summary" in html
        assert "sk-estimator" in html or "sk-container" in html  # scikit-learn's own
        own = html[: html.index("<style")]
        assert len(own) < 30_000
        assert "<script" not in own
        assert "http" not in own.replace("http://www.w3.org/2000/svg", "")


def test_models_without_a_map():
    unfitted = TwoWay("pca", up="nw", down="nw")
    assert "<path" not in unfitted._repr_html_inner().split("<style")[0]
    assert small_map(np.zeros((0, 2))) == ""
    with config_context(display="text"):
        assert "text/html" not in unfitted.fit(load_iris().data)._repr_mimebundle_()
