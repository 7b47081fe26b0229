"""The check of one object against the table of its class.

Every attribute must be in the table, so a file cannot hide a method or a property behind an
attribute, nor bring what a class computes by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twofold.export.contents.fields import Checked, Field, Scope, UnfitError, anything

Table = Mapping[str, Field]


@dataclass(frozen=True)
class Contents:
    """What the objects of a class may hold.

    Attributes
    ----------
    always : mapping
        Attributes that every object has, or its class for all of them.
    parameters : mapping
        Parameters of the constructor that fitted objects read. Others may have any value.
    learned : mapping
        Attributes of fitted objects; others have none of them.
    sometimes : mapping
        Attributes that may be missing.
    agree : callable or None
        Checks what attributes have to do with each other.
    """

    always: Table = field(default_factory=dict)
    parameters: Table = field(default_factory=dict)
    learned: Table = field(default_factory=dict)
    sometimes: Table = field(default_factory=dict)
    agree: Callable[[Any, Scope], None] | None = None


def checked(
    thing: Any, state: Mapping[str, Any], contents: Contents, of: Callable[[Any], Checked]
) -> Checked:
    """Check an object with these attributes; ``of`` returns what is known of the objects in it.

    Raises
    ------
    UnfitError
        If an attribute is unknown, is missing, or does not fit.
    """
    cls, scope = type(thing), Scope(of)
    is_fitted = not contents.learned or any(name in state for name in contents.learned)
    names = [name for name in getattr(cls, "_get_param_names", list)() if name not in state]
    required = [*contents.always, *(contents.learned if is_fitted else ())]
    names += [name for name in required if name not in state]
    missing = [name for name in names if not hasattr(cls, name)]
    if missing:
        raise UnfitError(f"has no {missing[0]!r}")
    known = _fields(cls, contents, is_fitted)
    for name in state:
        if name not in known:
            raise UnfitError(f"has an attribute {name[:80]!r}, which its class does not have")
    for name, one in known.items():
        if name in state:
            try:
                one(state[name], scope)
            except UnfitError as error:
                raise UnfitError(f"{name} {error}") from None
    if contents.agree is not None and is_fitted:
        contents.agree(thing, scope)
    return Checked(scope.sizes, is_fitted)


def _fields(cls: type, contents: Contents, is_fitted: bool) -> dict[str, Field]:
    """Return the field of each attribute that an object may have, learned ones first."""
    free = dict.fromkeys(getattr(cls, "_get_param_names", list)(), anything)
    if not is_fitted:
        return {**free, **contents.always}
    return {
        **contents.learned,
        **free,
        **contents.parameters,
        **contents.always,
        **contents.sometimes,
    }
