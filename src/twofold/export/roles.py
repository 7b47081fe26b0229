"""The roles of the columns beside the features: what a command line has to remember of a table.

A model file may hold them as ``"roles"``. They are optional, so files of all formats load. The file
is not trusted: everything else than names raises a `ModelFileError`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from twofold.export.errors import ModelFileError

LONGEST_NAME: Final = 100_000
MOST_NAMES: Final = 1_000_000


@dataclass(frozen=True)
class Roles:
    """Columns of the fitted table that are not features.

    Attributes
    ----------
    label, id : str or None
        The column of labels, and the column that names rows.
    left_out : tuple of str
        Columns that were left out, such as free text.
    """

    label: str | None = None
    id: str | None = None
    left_out: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return the roles as plain data for a model file."""
        return {**asdict(self), "left_out": list(self.left_out)}

    @classmethod
    def of(cls, facts: Any) -> Roles:
        """Return the roles of plain data; None means none.

        Raises
        ------
        ModelFileError
            If the data are not roles.
        """
        if facts is None:
            return cls()
        if not isinstance(facts, dict):
            raise ModelFileError("the roles of columns are not a mapping")
        label, id_ = facts.get("label"), facts.get("id")
        left_out = facts.get("left_out", [])
        for name, value in (("label", label), ("id", id_)):
            if value is not None and not _is_name(value):
                raise ModelFileError(f"the role {name!r} is not the name of a column")
        if (
            not isinstance(left_out, list)
            or len(left_out) > MOST_NAMES
            or not all(map(_is_name, left_out))
        ):
            raise ModelFileError("the columns that are left out are not a list of names")
        return cls(label, id_, tuple(left_out))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NAME
