"""Tables with columns of all kinds: numbers, categories, dates and gaps, in one unit."""

from twofold.tables.estimator import TableMap
from twofold.tables.layout import TableLayout

__all__ = ["TableLayout", "TableMap"]
