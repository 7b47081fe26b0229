"""Checks of parameters."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from twofold.numerics.validation import (
    check_choice,
    check_int,
    check_latents,
    check_methods,
    check_not_negative,
    check_real,
    check_rng,
)


def test_check_int():
    assert check_int("k", np.int64(3)) == 3
    for value in (True, 2.0, "2"):
        with pytest.raises(TypeError, match="k="):
            check_int("k", value)
    with pytest.raises(ValueError, match="k=0 must be at least 1"):
        check_int("k", 0)
    with pytest.raises(ValueError, match="k=9 must be between 1 and 5"):
        check_int("k", 9, high=5)


def test_check_real():
    assert check_real("h", 2) == 2.0
    for value in (True, "2"):
        with pytest.raises(TypeError, match="h="):
            check_real("h", value)
    for value in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="h="):
            check_real("h", value)
    assert check_not_negative("h", 0.0) == check_real("h", 0.0, low=0.0) == 0.0
    with pytest.raises(ValueError, match="h=-1 must be finite and at least 0"):
        check_not_negative("h", -1)
    with pytest.raises(ValueError, match="greater than 0 and less than 1, or None"):
        check_real("h", 1.0, below=1.0, also="None")


def test_messages_name_the_owner():
    with pytest.raises(ValueError, match=r"Steps\(size=0.0\): size must be finite and greater"):
        check_real("size", 0.0, owner="Steps")
    with pytest.raises(TypeError, match=r"Steps\(window=1.5\): window must be an integer"):
        check_int("window", 1.5, owner="Steps")


def test_check_choice():
    assert check_choice("up", "nw", ("nw", "krr")) == "nw"
    with pytest.raises(ValueError, match=r"up='x' must be one of \['krr', 'nw'\]"):
        check_choice("up", "x", ("nw", "krr"))


def test_check_methods():
    check_methods("up", Ridge(), ("fit", "predict"))
    wanted = "must be a name, or an object with the methods fit, jacobian: it lacks jacobian"
    with pytest.raises(TypeError, match=rf"up=Ridge\(\) {wanted}"):
        check_methods("up", Ridge(), ("fit", "jacobian"), also="a name")
    with pytest.raises(TypeError, match="must be an object with the methods fit: it is a class"):
        check_methods("up", Ridge, ("fit",))


def test_check_rng():
    generator = np.random.default_rng(0)
    assert check_rng(generator) is generator
    assert check_rng(3).random() == check_rng(np.int64(3)).random()
    before = np.random.get_state()[1].copy()
    assert check_rng(np.random.RandomState(3)).random() == (
        check_rng(np.random.RandomState(3)).random()
    )
    assert check_rng(None).random() != check_rng(None).random()
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    for value in (-1, "seed", 1.5):
        with pytest.raises(ValueError, match="random_state"):
            check_rng(value)


def test_check_latents():
    Z, dtype = check_latents([[1.0, 2.0]], 2, owner="Model")
    assert Z.dtype == dtype == np.float64
    with pytest.raises(ValueError, match=r"3 columns.*n_components=2"):
        check_latents(np.zeros((1, 3)), 2, owner="Model")
    with pytest.raises(ValueError, match="Z contains infinity, first in row 1, column 0"):
        check_latents(np.array([[0.0], [np.inf]]), 1, owner="Model")
