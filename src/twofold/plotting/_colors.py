"""Colours and marks that stay apart for colour-blind readers."""

from __future__ import annotations

__all__ = [
    "COLORS",
    "DARK",
    "LINE_COLORS",
    "LINE_STYLES",
    "MARKERS",
    "MISSING",
    "SEQUENTIAL",
    "class_color",
    "class_marker",
    "dark_enough",
]

COLORS = (
    "#CC6677",
    "#332288",
    "#DDCC77",
    "#117733",
    "#88CCEE",
    "#882255",
    "#44AA99",
    "#999933",
    "#AA4499",
    "#111111",
)
"""Paul Tol's muted scheme, and black: a grey would look like one of the others to some readers. From the eleventh class on colours repeat, with
another mark."""

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">")

LINE_COLORS = (
    "#332288",
    "#CC6677",
    "#117733",
    "#882255",
    "#44AA99",
    "#AA4499",
    "#999933",
    "#111111",
)
"""Those of them that are dark enough for a thin line on white."""

LINE_STYLES = ("-", "--", "-.", ":")

DARK = "#332288"
"""Of what has no class."""

MISSING = "#BBBBBB"
"""Of rows without a label."""

SEQUENTIAL = "viridis"
"""Colours of numbers: they grow lighter evenly, also in grey and to colour-blind readers."""


def class_color(number: int) -> str:
    """Return the colour of a class by its number; -1 is a missing label."""
    return MISSING if number < 0 else COLORS[number % len(COLORS)]


def class_marker(number: int) -> str:
    """Return the mark of a class by its number: another one for every ten classes."""
    return MARKERS[0] if number < 0 else MARKERS[number // len(COLORS) % len(MARKERS)]


def dark_enough(color: str) -> str:
    """Return a colour as it can be read on white: the lighter ones are darkened."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    lightness = (0.299 * red + 0.587 * green + 0.114 * blue) / 255.0
    factor = min(1.0, 0.32 / max(lightness, 1e-9))
    return "#{:02X}{:02X}{:02X}".format(*(int(factor * part) for part in (red, green, blue)))
