"""One-hot columns of a frame that belong together: copies of one column of categories.

`pandas.get_dummies` and others make columns such as ``species_Adelie`` and ``species_Gentoo``. They
are taken for a group if their names begin alike, if all cells are 0 or 1, if every row has one 1,
and if gaps are in all of them or in none. The group weighs as much as the one column it came from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from twofold.protocols import Array
from twofold.tables.cells import Cells

SEPARATORS = re.compile(r"[_.=: /-]")


def one_hot_groups(columns: Mapping[str, Cells]) -> dict[str, list[str]]:
    """Return the groups among columns: the beginning of their names, and the names."""
    indicators = {name: cells for name, cells in columns.items() if _is_indicator(cells)}
    prefixes = {
        name[: found.end()] for name in indicators for found in SEPARATORS.finditer(name, 1)
    }
    groups: dict[str, list[str]] = {}
    for prefix in sorted(prefixes, key=lambda one: (-len(one), one)):
        members = [name for name in indicators if name.startswith(prefix) and name != prefix]
        if len(members) < 2 or not _is_one_hot([indicators[name].plain for name in members]):
            continue
        title = prefix[:-1].rstrip("_.=: /-") or prefix
        groups[title if title not in columns else prefix + "*"] = members
        indicators = {name: one for name, one in indicators.items() if name not in members}
    return groups


def one_hot_values(members: list[Array]) -> Array:
    """Return the position (n,) of the 1 in each row of a group; NaN if there is none, or two."""
    table = np.column_stack(members)
    hits = table == 1.0
    alone = (hits.sum(axis=1) == 1) & ~((table != 0.0) & ~np.isnan(table) & ~hits).any(axis=1)
    return np.where(alone, hits.argmax(axis=1), np.nan)


def _is_indicator(cells: Cells) -> bool:
    if cells.kind not in ("boolean", "number"):
        return False
    observed = cells.plain[~cells.missing]
    return len(observed) > 0 and bool(np.isin(observed, (0.0, 1.0)).all())


def _is_one_hot(members: list[Array]) -> bool:
    table = np.column_stack(members)
    gaps = np.isnan(table)
    complete = ~gaps.any(axis=1)
    if (gaps.any(axis=1) != gaps.all(axis=1)).any():
        return False
    # A column without a 1 could be anything; two columns with one have to be there.
    used = table[complete].any(axis=0)
    return bool((table[complete].sum(axis=1) == 1.0).all()) and used.sum() >= 2
