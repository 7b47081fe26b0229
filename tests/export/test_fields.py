"""What attributes in model files may hold: for each field values that it takes, and others."""

import math

import numpy as np
import pytest

from twofold.export.contents import fields
from twofold.export.contents.fields import FAR, Checked, Scope, UnfitError
from twofold.maps import NadarayaWatson
from twofold.maps.affine import Affine

BIG = float(np.finfo(np.float64).max)
MAP = NadarayaWatson()
KNOWN = {id(MAP): Checked({"inputs": 2, "outputs": 5}, is_fitted=True)}


def scope(**sizes):
    return Scope(lambda thing: KNOWN.get(id(thing), Checked({}, is_fitted=True)), dict(sizes))


def ones(*shape, dtype=float):
    return np.ones(shape, dtype=dtype)


TAKES = {
    "none": (fields.none, [None], [0, False, ""]),
    "flag": (fields.flag, [True, False, np.True_], [0, 1, None, "True"]),
    "text": (fields.text(), ["", "x"], [None, 1, b"x"]),
    "text of choices": (fields.text("a", "b"), ["a", "b"], ["c", "ab", "", None]),
    "number": (
        fields.number(),
        [0, -1, 2.5, FAR, -FAR, np.float32(1), np.int64(3)],
        [math.nan, math.inf, 2.0 * FAR, -2.0 * FAR, True, "1", 1j, None, 10**30],
    ),
    "number in bounds": (
        fields.number(low=1.0, above=0.0, high=2.0),
        [1, 1.0, 1.5, 2.0],
        [0.0, 0.5, 2.1, math.nan],
    ),
    "positive": (fields.positive, [1e-300, 5], [0, 0.0, -1.0, math.nan]),
    "figure": (fields.figure, [0, math.nan, math.inf, 1e300], ["1", None, True]),
    "width": (fields.width, [1e-100, 1e300], [0.0, 1e-101, 2e300]),
    "amount": (fields.amount, [BIG, -BIG], [math.inf, math.nan]),
    "positive amount": (fields.positive_amount, [BIG, 0.5], [0.0, math.inf, -1.0]),
    "whole": (
        fields.whole(),
        [0, 2**62, -(2**62), np.int8(3)],
        [1.0, True, 2**62 + 1, -(2**62) - 1],
    ),
    "whole in bounds": (fields.whole(1, 3), [1, 2, 3], [0, 4]),
    "factor": (fields.factor, [1.0, -2.5, np.float64(3)], [0.0, 1, math.nan, math.inf]),
    "floats": (
        fields.floats("rows", "columns"),
        [ones(3, 2), ones(3, 2, dtype="f4"), FAR * ones(1, 1)],
        [
            ones(3),
            ones(3, 2, dtype=int),
            ones(3, 2, dtype="f2"),
            ones(3, 2, dtype=">f8"),
            ones(0, 2),
            ones(2, 0),
            math.nan * ones(1, 1),
            math.inf * ones(1, 1),
            2.0 * FAR * ones(1, 1),
            -2.0 * FAR * ones(1, 1),
            [[1.0]],
        ],
    ),
    "floats in bounds": (
        fields.floats("rows?", low=1.0, above=0.5, high=2.0),
        [ones(0), ones(3), 2.0 * ones(3)],
        [0.9 * ones(2), 2.1 * ones(2)],
    ),
    "floats above": (fields.floats("rows", above=0.0), [ones(2)], [np.array([0.0, 1.0])]),
    "any floats": (fields.floats("rows", nan=True), [math.nan * ones(2)], [ones(2, dtype=int)]),
    "values": (fields.values("rows"), [BIG * ones(2), -BIG * ones(2)], [math.inf * ones(2)]),
    "integers": (
        fields.integers("rows?"),
        [np.arange(3), np.zeros(2, dtype="u1"), np.zeros(0, dtype=int)],
        [np.array([-1, 3]), ones(2), np.array([True])],
    ),
    "flags": (fields.flags("rows"), [np.array([True])], [np.array([1]), ones(2, dtype=bool)[:0]]),
    "texts": (
        fields.texts("names"),
        [np.array(["a", "b"]), np.array(["a", "b"], dtype=object)],
        [np.array(["a", 1], dtype=object), np.array([1.0]), np.array([["a"]]), ["a"]],
    ),
    "labels": (
        fields.labels,
        [np.arange(3), np.array(["a"]), np.array(["a"], dtype=object), np.array([True])],
        [np.ones((2, 2)), np.array([1, "a"], dtype=object), np.array([1j]), [1]],
    ),
    "generator": (
        fields.generator,
        [np.random.default_rng(0)],
        [np.random.RandomState(0), 0, None],
    ),
    "either": (
        fields.either(fields.none, fields.floats("rows")),
        [None, ones(2)],
        [0, ones(2, 2)],
    ),
    "either of three": (
        fields.either(fields.none, fields.flag, fields.text()),
        [None, True, "x"],
        [0, 1.0],
    ),
    "optional": (fields.optional(fields.flag), [None, True], [0]),
    "listed": (fields.listed(fields.flag), [[], [True, False]], [(True,), [True, 0], None]),
    "tupled": (fields.tupled(fields.flag, "n"), [(True,)], [(), [True], (0,), (True, 0)]),
    "record": (
        fields.record(fields.flag, fields.text()),
        [(True, "a")],
        [(True,), ("a", True), [True, "a"], (True, "a", "b")],
    ),
    "several": (
        fields.several(fields.flag, fields.text()),
        [[True, "a"]],
        [[True], ["a", True], (True, "a"), [True, "a", "b"]],
    ),
    "mapping": (fields.mapping(fields.flag), [{}, {"a": True}], [{"a": 1}, {1: True}, []]),
    "keyed": (
        fields.keyed({"a": fields.flag, "b": fields.text()}),
        [{"a": True, "b": "x"}],
        [{"a": True}, {"a": True, "b": 1}, {"a": True, "b": "x", "c": 1}, []],
    ),
    "keyed in part": (
        fields.keyed({"a": fields.flag, "b": fields.text()}, all_keys=False),
        [{}, {"a": True}],
        [{"c": True}, {"a": 1}],
    ),
    "an object": (fields.a("NadarayaWatson"), [MAP], [Affine(), None, NadarayaWatson]),
}
CASES = [
    pytest.param(field, value, takes, id=f"{name}-{takes}-{number}")
    for name, (field, *both) in TAKES.items()
    for takes, some in zip((True, False), both, strict=True)
    for number, value in enumerate(some)
]


@pytest.mark.parametrize(("field", "value", "takes"), CASES)
def test_what_a_field_takes(field, value, takes):
    if takes:
        field(value, scope())
    else:
        with pytest.raises(UnfitError):
            field(value, scope())


def test_sizes_of_one_object_are_equal():
    one = scope()
    fields.floats("rows", "inputs")(ones(4, 2), one)
    fields.floats("rows", "outputs")(ones(4, 3), one)
    fields.count("rows")(4, one)
    assert one.sizes == {"rows": 4, "inputs": 2, "outputs": 3}
    for field, value in (
        (fields.floats("rows"), ones(5)),
        (fields.count("rows"), 5),
        (fields.tupled(fields.flag, "inputs"), (True,)),
        (fields.integers("outputs"), np.arange(2)),
    ):
        with pytest.raises(UnfitError, match="instead of"):
            field(value, one)
    with pytest.raises(UnfitError, match="not a whole number"):
        fields.count("rows")(4.0, one)
    with pytest.raises(UnfitError, match="has no columns"):
        fields.count("columns")(0, one)
    fields.count("columns?")(0, one)


def test_sizes_of_what_was_not_taken_are_forgotten():
    one = scope()
    both = fields.either(
        fields.record(fields.count("rows"), fields.flag), fields.record(fields.none, fields.none)
    )
    with pytest.raises(UnfitError):
        both((7, "no flag"), one)
    assert one.sizes == {}
    fields.alone(fields.count("rows"))(9, one)
    assert one.sizes == {}


def test_sizes_of_an_object_inside():
    one = scope(latents=2)
    fields.a("NadarayaWatson", inputs="latents", outputs="columns")(MAP, one)
    assert one.sizes == {"latents": 2, "columns": 5}
    with pytest.raises(UnfitError, match="instead of 3"):
        fields.a("NadarayaWatson", inputs="latents")(MAP, scope(latents=3))


@pytest.mark.parametrize("known", ["first", "second"])
def test_objects_without_sizes_have_as_many_inputs_as_outputs(known):
    one = scope(**{known: 4})
    fields.a("Affine", inputs="first", outputs="second")(Affine(), one)
    assert one.sizes == {"first": 4, "second": 4}
    empty = scope()
    fields.a("Affine", inputs="first", outputs="second")(Affine(), empty)
    assert empty.sizes == {}


def test_objects_that_are_not_fitted():
    with pytest.raises(UnfitError, match="not fitted"):
        fields.a("Affine")(Affine(), Scope(lambda thing: Checked({}, is_fitted=False)))
