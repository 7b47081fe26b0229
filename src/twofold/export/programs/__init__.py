r"""Fitted maps as short programs of plain arrays, for those who evaluate them elsewhere.

A page in a browser and an ONNX graph have no estimators. For them `closed_form` takes a fitted map apart into *steps*, each a frozen
dataclass that holds arrays and does one thing,

.. math:: x \mapsto s_k(\cdots s_2(s_1(x))),

so that whoever writes maps down in another language has ten steps to translate and no map. Every step can also be applied here
(``step(x)``), which says what it means and is what translations are tested against.

The limits that keep the maps finite for inputs 1e90 units away are left out: within the range of a float32 they change nothing.

A projection onto a manifold is a search, not a formula: `NoClosedForm` says so, and what to use instead.
"""

from twofold.export.programs.steps import (
    IntoDomain,
    Linear,
    NodeProducts,
    PairKernel,
    Put,
    RadialFeatures,
    RadialMeans,
    RadialMedians,
    Sigmoid,
    Step,
    Take,
)
from twofold.export.programs.translation import ClosedForm, NoClosedForm, closed_form

__all__ = [
    "ClosedForm",
    "IntoDomain",
    "Linear",
    "NoClosedForm",
    "NodeProducts",
    "PairKernel",
    "Put",
    "RadialFeatures",
    "RadialMeans",
    "RadialMedians",
    "Sigmoid",
    "Step",
    "Take",
    "closed_form",
]
