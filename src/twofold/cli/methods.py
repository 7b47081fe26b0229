"""The methods of the command line, and their parameters as ``--set name=value``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from twofold.cli.messages import did_you_mean

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

PYTHON_WORDS: Final = {"True": True, "False": False, "None": None}
"""Values that Python spells differently from JSON."""

OPTIONS: Final = {
    "n_components": "-q",
    "random_state": "--seed",
    "effort": "--effort",
    "scale": "--scale",
}
"""Parameters that have their own option."""


@dataclass(frozen=True)
class Method:
    """A method by the name of its estimator in `twofold`, which is imported when it is needed."""

    class_name: str
    needs_labels: bool = False

    @property
    def estimator(self) -> type[TwoWayEstimator]:
        """The class of the estimator."""
        found: type[TwoWayEstimator] = getattr(import_module("twofold"), self.class_name)
        return found

    def parameters(self) -> dict[str, Any]:
        """Return the parameters for ``--set`` with their defaults."""
        defaults: dict[str, Any] = self.estimator().get_params(deep=False)
        return {name: value for name, value in defaults.items() if name not in OPTIONS}

    def make(self, n_components: int | str, seed: int, settings: dict[str, Any]) -> TwoWayEstimator:
        """Return an estimator."""
        return self.estimator(n_components=n_components, random_state=seed, **settings)


AUTO: Final = "auto"
"""The method that compares others; the default."""

METHODS: Final = {
    AUTO: Method("AutoTwoWay"),
    "ukr": Method("UKR"),
    "drur": Method("DRUR"),
    "principal-manifold": Method("PrincipalManifold"),
    "sne": Method("SNE"),
    "isomap": Method("AgglomerativeIsomap"),
    "supervised-isomap": Method("SupervisedIsomap", needs_labels=True),
    "two-way": Method("TwoWay"),
}


def parse_settings(method_name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Parse the parameters of a method from texts ``name=value``; values are JSON or strings."""
    known = METHODS[method_name].parameters()
    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip()
        problem = ""
        if not equals:
            problem = "write it as name=value, such as --set max_iter=100"
        elif name in OPTIONS:
            problem = f"use {OPTIONS[name]} {value}"
        elif name not in known:
            problem = f"{method_name} has no parameter {name}; {_hint(method_name, name)}"
        elif name in found:
            problem = f"{name} is given twice"
        if problem:
            raise click.UsageError(f"--set {text}: {problem}")
        found[name] = _parse_value(value.strip())
    return found


def _hint(method_name: str, name: str) -> str:
    """Return a hint at the closest parameter, or at a method that has this parameter."""
    if method_name == AUTO:
        for other, method in METHODS.items():
            if name in method.parameters():
                return f"name a method that has it, such as -m {other}"
    return did_you_mean(name, METHODS[method_name].parameters())


def _parse_value(text: str) -> Any:
    if text in PYTHON_WORDS:
        return PYTHON_WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def complete_setting(
    ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the parameter names of the method in use."""
    method = METHODS.get(ctx.params.get("method") or AUTO)
    if method is None or "=" in incomplete:
        return []
    return [
        CompletionItem(f"{name}=", help=f"default {value!r}")
        for name, value in method.parameters().items()
        if name.startswith(incomplete)
    ]
