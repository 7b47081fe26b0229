"""A small map of latents as SVG, for the HTML of fitted models.

The picture has one path of dots in the color of the text around it, so it fits light and dark
notebooks, and neither scripts, styles nor links.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from twofold.numerics.threads import some_rows
from twofold.protocols import Array

MOST_DOTS = 400
WIDTH, HEIGHT = 240, 160
MARGIN = 8
FLATTEST = 60
"""The height of a map of one latent, or of one that is much wider than high."""

SPREAD_BINS = 24


def small_map(embedding: Array) -> str:
    """Return SVG of a sample of latents (n, q), or no text if there are none.

    Rows with one latent are spread across a line as far as their density is high. More than two
    latents are shown in the plane of their leading principal axes.
    """
    n, q = embedding.shape
    if not n or not q:
        return ""
    some = np.asarray(embedding[some_rows(n, MOST_DOTS)], dtype=np.float64)
    largest = float(np.abs(some).max())
    if not np.isfinite(largest):
        return ""
    some = some / (largest or 1.0)  # squares of huge or tiny latents leave the range of numbers
    centered = some - some.mean(axis=0)
    if q == 1:
        x, y = centered[:, 0], None
    else:
        plane = centered if q == 2 else centered @ np.linalg.svd(centered, full_matrices=False)[2].T
        plane = np.pad(plane, ((0, 0), (0, max(0, 2 - plane.shape[1]))))
        x, y = plane[:, 0], plane[:, 1]
    return _svg(x, y, _said(n, q, len(some)))


def _said(n: int, q: int, n_shown: int) -> str:
    """Return what the picture shows, as text."""
    rows = f"{n:,} rows" if n_shown == n else f"{n_shown:,} of {n:,} rows"
    what = {1: "one latent, spread by density", 2: "two latents"}
    return f"Map of {rows}: {what.get(q, f'two principal axes of {q} latents')}"


def _svg(x: Array, y: Array | None, said: str) -> str:
    wide = WIDTH - 2 * MARGIN
    extent = float(np.ptp(x))
    if y is None:
        height = FLATTEST
        across = _placed(x, wide)
        down = 0.5 * height + (height - 2 * MARGIN) * _spread(across / wide)
    else:
        tall = float(np.ptp(y))
        rooms = ((extent, wide), (tall, HEIGHT - 2 * MARGIN))
        scale = min((room / part for part, room in rooms if part), default=1.0)
        height = int(np.clip(tall * scale + 2 * MARGIN, FLATTEST, HEIGHT))
        across = 0.5 * wide + scale * (x - 0.5 * (x.min() + x.max()))
        down = 0.5 * height - scale * (y - 0.5 * (y.min() + y.max()))
    dots = "".join(
        f"M{MARGIN + a:.1f} {b:.1f}h0" for a, b in zip(across.tolist(), down.tolist(), strict=True)
    )
    size = 3.5 if len(x) > 150 else 4.5
    said = escape(said)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{said}" '
        'style="display: block; max-width: 100%; margin: 4px 0; border: 1px solid; '
        'border-color: color-mix(in srgb, currentColor 25%, transparent); border-radius: 4px">'
        f"<title>{said}</title>"
        f'<path d="{dots}" fill="none" stroke="currentColor" stroke-opacity="0.45" '
        f'stroke-width="{size}" stroke-linecap="round"/></svg>'
    )


def _placed(x: Array, length: int) -> Array:
    """Return places of numbers on a line of some length; equal ones lie in the middle."""
    extent = float(np.ptp(x))
    return np.asarray(length * (x - x.min()) / extent if extent else np.full(len(x), 0.5 * length))


def _spread(shares: Array) -> Array:
    """Return offsets in [-0.5, 0.5] for places in [0, 1], wide where many places are."""
    bins = np.minimum((SPREAD_BINS * shares).astype(int), SPREAD_BINS - 1)
    counts = np.bincount(bins, minlength=SPREAD_BINS)
    golden = np.modf(0.5 + 0.618034 * np.arange(len(shares)))[0]  # evenly, in any order
    return np.asarray((golden - 0.5) * counts[bins] / counts.max())


def map_of(model: Any) -> str:
    """Return the small map of a fitted model, or no text if it keeps no latents."""
    latents = getattr(model, "embedding_", None)
    return small_map(latents) if isinstance(latents, np.ndarray) and latents.ndim == 2 else ""
