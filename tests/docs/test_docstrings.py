"""Docstrings of public names: each has an example that runs, and says what the signature says.

`test_docs.py` runs the examples. These tests check that there is one, that documented parameters
are those of the signature, in its order and with its defaults, and that arrays have shapes.
"""

import ast
import dataclasses
import importlib
import inspect
import re
from functools import cached_property

import pytest
from public import PUBLIC_MODULES

from twofold.base.estimator import TwoWayEstimator

IN_THEIR_OWN_RIGHT = (TwoWayEstimator,)
"""Classes of which every method has its own example. Others may be in the class's example."""

SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "See Also",
    "Notes",
    "References",
    "Examples",
)
"""In the order of numpydoc."""

ARRAY = re.compile(r"\b(ndarray|array-like|csr_array|sparse array)\b")


def public():
    """Return public classes and functions, each once, by the first name it has."""
    found = {}
    for module in map(importlib.import_module, PUBLIC_MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(thing, f"{module.__name__}.{name}")
    return {name: thing for thing, name in found.items()}


def methods(cls):
    """Return the public methods of a class and its bases of ours; of a protocol, only its own."""
    found = {}
    for base in [cls] if getattr(cls, "_is_protocol", False) else cls.__mro__:
        if not base.__module__.startswith("twofold"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_"):
                continue
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            elif isinstance(member, property | cached_property):
                member = getattr(member, "fget", None) or member.func
            if inspect.isfunction(member):
                found.setdefault(name, inspect.unwrap(member))
    return found


PUBLIC = public()
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
METHODS = {
    f"{name}.{method}": function
    for name, cls in CLASSES.items()
    for method, function in methods(cls).items()
}
DISPLAYED = {
    f"{name}.{method}"
    for name, cls in CLASSES.items()
    if issubclass(cls, IN_THEIR_OWN_RIGHT)
    for method in methods(cls)
}
ALL = PUBLIC | METHODS


def sections(thing):
    """Return a docstring's sections as lists of lines, in their order."""
    found, name = {"": []}, ""
    lines = inspect.cleandoc(thing.__doc__ or "").splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line in SECTIONS and re.fullmatch("-{3,}", following):
            assert name != line
            name = line
            found[name] = []
        elif not (set(line) == {"-"} and lines[number - 1] == name):
            found[name].append(line)
    return found


def entries(thing, section):
    """Return ``[(names, type, whole text)]`` of a section of parameters, attributes or results."""
    found = []
    for line in sections(thing).get(section, []):
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            found.append(([name.strip().lstrip("*") for name in names.split(",")], kind, line))
        elif found:
            found[-1] = (*found[-1][:2], f"{found[-1][2]} {line.strip()}")
    return found


def signature_of(thing):
    parameters = inspect.signature(thing).parameters
    return {name: one for name, one in parameters.items() if name not in ("self", "cls")}


def documented(thing):
    """Return the parameters that a docstring names; a record documents its attributes instead."""
    given = [name for names, _, _ in entries(thing, "Parameters") for name in names]
    if not given and dataclasses.is_dataclass(thing):
        fields = {field.name for field in dataclasses.fields(thing)}
        named = [name for names, _, _ in entries(thing, "Attributes") for name in names]
        given = [name for name in named if name in fields]
    return given


def takes_parameters(thing):
    """Return whether callers pass parameters: not to protocols, nor to most exceptions."""
    if inspect.isclass(thing) and getattr(thing, "_is_protocol", False):
        return False
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return "__init__" in vars(thing)
    return True


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_examples(name):
    assert ">>> " in "\n".join(sections(PUBLIC[name]).get("Examples", []))


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_examples(name):
    own = "\n".join(sections(METHODS[name]).get("Examples", []))
    if name in DISPLAYED:
        assert ">>> " in own
        return
    cls, _, method = name.rpartition(".")
    of_class = sections(CLASSES[cls]).get("Examples", [])
    code = [line for line in of_class if line.startswith((">>> ", "... "))]
    assert ">>> " in own or any(re.search(rf"\b{method}\b", line) for line in code)


@pytest.mark.parametrize("name", [*PUBLIC, *sorted(DISPLAYED)])
def test_examples_are_not_skipped(name):
    assert "+SKIP" not in (ALL[name].__doc__ or "")


@pytest.mark.parametrize("name", ALL)
def test_sections_are_in_the_order_of_numpydoc(name):
    given = [section for section in sections(ALL[name]) if section]
    assert given == sorted(given, key=SECTIONS.index)


@pytest.mark.parametrize("name", ALL)
def test_documented_parameters_are_those_of_the_signature(name):
    thing = ALL[name]
    given = documented(thing)
    by_class = name in METHODS and name not in DISPLAYED
    if not given and (by_class or not takes_parameters(thing)):
        return  # what the class's docstring says is enough
    assert given == [one for one in signature_of(thing) if not one.startswith("_")]


@pytest.mark.parametrize("name", ALL)
def test_documented_defaults_are_those_of_the_code(name):
    if not takes_parameters(ALL[name]):
        return
    parameters = signature_of(ALL[name])
    for names, kind, _ in entries(ALL[name], "Parameters"):
        stated = re.search(r"(?:^|, )default=(.*)$", kind)
        for one in names if kind and kind != "ignored" else []:
            default = parameters[one].default
            if (
                default is inspect.Parameter.empty
                or parameters[one].kind is inspect.Parameter.VAR_KEYWORD
            ):
                assert stated is None, one
            elif "factory" not in repr(default):
                assert stated is not None, f"{one}: default={default!r} is not documented"
                assert ast.literal_eval(stated[1]) == default, one


@pytest.mark.parametrize("name", ALL)
def test_arrays_have_shapes(name):
    for section in ("Parameters", "Attributes", "Returns"):
        for _, _, text in entries(ALL[name], section):
            if ARRAY.search(text):
                assert "shape" in text.lower(), f"{section}: {text}"
