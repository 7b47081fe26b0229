"""Names from files as text that can be shown.

A name may hold characters that steer a terminal, reverse the text around them, break a line, or
belong to no text at all, such as half of a surrogate pair.
"""

from __future__ import annotations

from typing import Final

JOINERS: Final = "\u200c\u200d"
"""Characters without width that Persian, Hindi and emoji need."""


def printable(text: str) -> str:
    """Return text in which all other characters than printable ones are escaped, as in `repr`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in JOINERS else repr(one)[1:-1] for one in text)
