"""The methods by their names on the command line, and their parameters by ``--set name=value``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from twofold.cli.words import did_you_mean

__all__ = ["METHODS", "Method", "complete_setting", "parse_settings"]

WORDS: Final = {"True": True, "False": False, "None": None}
"""What Python people write where JSON has small letters."""

ELSEWHERE: Final = {"n_components": "-q", "random_state": "--seed"}
"""Parameters that have an option of their own."""


@dataclass(frozen=True)
class Method:
    """A way to find a map.

    Parameters
    ----------
    class_name : str
        The estimator in `twofold`, loaded when it is needed.
    about : str
        What it is, in a few words.
    needs_labels : bool
        Whether it does not work without.
    """

    class_name: str
    about: str
    needs_labels: bool = False

    @property
    def estimator(self) -> type[Any]:
        """The estimator's class."""
        found: type[Any] = getattr(import_module("twofold"), self.class_name)
        return found

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that ``--set`` takes, with their defaults."""
        defaults: dict[str, Any] = self.estimator().get_params(deep=False)
        return {name: value for name, value in defaults.items() if name not in ELSEWHERE}

    def make(self, n_components: int | str, seed: int, settings: dict[str, Any]) -> Any:
        """Return the estimator."""
        return self.estimator(n_components=n_components, random_state=seed, **settings)


METHODS: Final = {
    "ukr": Method("UKR", "unsupervised kernel regression: rebuilds data best"),
    "drur": Method("DRUR", "two small networks, for very many rows"),
    "principal-manifold": Method("PrincipalManifold", "a smooth surface, past outliers"),
    "sne": Method("SNE", "stochastic neighbour embedding"),
    "isomap": Method("AgglomerativeIsomap", "path lengths, unrolled"),
    "supervised-isomap": Method(
        "SupervisedIsomap", "path lengths that labels change", needs_labels=True
    ),
    "two-way": Method("TwoWay", "maps for an embedding, t-SNE if no other is set"),
}


def parse_settings(method_name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Return parameters from texts ``name=value``, where a value is JSON or else a string.

    Parameters
    ----------
    method_name : str
        Whose parameters they are.
    settings : sequence of str
        The texts.
    """
    known = METHODS[method_name].parameters()
    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise click.UsageError(
                f"--set {text}: write it as name=value, such as --set max_iter=100"
            )
        if name in ELSEWHERE:
            raise click.UsageError(f"--set {text}: use {ELSEWHERE[name]} {value}")
        if name not in known:
            raise click.UsageError(
                f"--set {text}: {method_name} has no parameter {name}; {did_you_mean(name, known)}"
            )
        if name in found:
            raise click.UsageError(f"--set {name} is given twice")
        found[name] = parse_value(value.strip())
    return found


def parse_value(text: str) -> Any:
    """Return what a text says in JSON, or the text."""
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def complete_setting(
    ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names of the parameters of the method in use."""
    method = METHODS.get(ctx.params.get("method") or "ukr")
    if method is None or "=" in incomplete:
        return []
    return [
        CompletionItem(f"{name}=", help=f"default {value!r}")
        for name, value in method.parameters().items()
        if name.startswith(incomplete)
    ]
