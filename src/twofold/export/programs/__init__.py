r"""Fitted maps as short programs of plain arrays, for evaluation outside Python.

The explorer's page and ONNX graphs have no estimators. `closed_form` takes a fitted map apart into
steps (`twofold.export.programs.steps`), frozen dataclasses that hold arrays and do one thing each,

.. math:: x \mapsto s_k(\cdots s_2(s_1(x))),

so a translation to another language has to know twelve steps and no map. A step can also be called,
which defines what it means; tests compare the translations with it.

The limits that keep the maps finite for inputs 1e90 units away are left out: within the range of a
float32 they change nothing.

A projection onto a manifold is a search, not a formula, and raises `NoClosedForm`.
"""
