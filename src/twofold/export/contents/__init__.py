"""What the objects in a model file may hold: one table for each class.

`fields` has the checks of single attributes, `checking` the check of an object, the other modules
the tables. A value that does not fit raises an `UnfitError`.
"""

from typing import Final

from twofold.export.contents import estimators, manifolds, maps, parts, steps, tables
from twofold.export.contents.checking import Contents, checked
from twofold.export.contents.fields import Checked, UnfitError

__all__ = ["CONTENTS", "Checked", "UnfitError", "checked"]

CONTENTS: Final[dict[str, Contents]] = {
    name: contents
    for module in (parts, maps, manifolds, estimators, tables, steps)
    for name, contents in module.TABLES.items()
}
"""The table of each class by its name."""
