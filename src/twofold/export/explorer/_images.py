"""Images of rows: PNG or JPEG data, checked and packed as data URIs.

The browser shows them in the cards of rows. Only these two types are taken: an SVG may hold
scripts. Equal images are stored once.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable
from typing import Any

from sklearn.utils.validation import check_consistent_length

from twofold.protocols import IntArray

SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}
"""The first bytes of each type."""

LARGEST_IMAGE = 1_000_000
"""Bytes of one image. A page of thousands of rows needs thumbnails of a few thousand bytes."""

DATA_URI = re.compile(r"data:image/(?:png|jpe?g);base64,(.*)", re.DOTALL | re.IGNORECASE)


def packed_images(images: Any, n_rows: int, chosen: IntArray) -> dict[str, Any] | None:
    """Return data URIs, each once, and for each chosen row the number of its own or None.

    ``images`` (n_rows,) holds bytes, data URIs, or None for rows without an image.
    """
    if images is None:
        return None
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise TypeError(
            f"images={type(images).__name__} must be a sequence with the PNG or JPEG bytes, the "
            "data URI or None of each row."
        )
    listed = list(images)
    check_consistent_length(range(n_rows), listed)
    numbers: dict[str, int] = {}
    found: list[int | None] = []
    for row in chosen.tolist():
        uri = _uri(listed[row], row)
        found.append(None if uri is None else numbers.setdefault(uri, len(numbers)))
    return {"uris": list(numbers), "of": found}


def _uri(image: Any, row: int) -> str | None:
    if image is None or image != image:  # NaN is the gap of a data frame
        return None
    if isinstance(image, str):
        match = DATA_URI.fullmatch(image.strip())
        if match is None:
            raise ValueError(
                f"images[{row}]={image[:40]!r} is not a data URI of a PNG or JPEG "
                "(data:image/png;base64,...). Read files yourself: Path(...).read_bytes()."
            )
        try:
            image = b64decode(match[1], validate=True)
        except NotBase64:
            raise ValueError(f"images[{row}] is a data URI, but not in base64.") from None
    if not isinstance(image, bytes | bytearray | memoryview):
        raise TypeError(
            f"images[{row}] is of type {type(image).__name__}; PNG or JPEG bytes, a data URI or "
            "None are allowed."
        )
    content = bytes(image)
    if len(content) > LARGEST_IMAGE:
        raise ValueError(
            f"images[{row}] has {len(content):,} bytes; at most {LARGEST_IMAGE:,} are allowed. "
            "Scale the images down: a card shows them 240 pixels wide."
        )
    for kind, signature in SIGNATURES.items():
        if content.startswith(signature):
            return f"data:image/{kind};base64,{b64encode(content).decode('ascii')}"
    raise ValueError(f"images[{row}] is neither a PNG nor a JPEG: it begins with {content[:8]!r}.")
