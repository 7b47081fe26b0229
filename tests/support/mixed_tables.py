"""Data frames of all kinds of columns, for tests of tables outside their own folder."""

import numpy as np
import pandas as pd

NASTY = (
    "</script><script>window.hurt = 1</script>",
    "\u05e9\u05dc\u05d5\u05dd \u202e\u0627",
    "\"'`&\u2028",
)
"""Labels with markup, right-to-left text and quotes."""


def mixed_frame(n=120, levels=NASTY):
    """Return a frame with a curve in it: numbers, counts, words, truth values and dates."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, n)
    noise = rng.normal(size=(5, n))
    ordered = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    return pd.DataFrame(
        {
            "length mm": 1e3 + 50.0 * np.cos(5.0 * t) + noise[0],
            "income": np.exp(8.0 + 2.0 * t + 0.5 * noise[1]),
            "count": np.rint(10.0 + 20.0 * np.sin(4.0 * t) ** 2 + noise[2]).astype(int),
            levels[0]: np.array(levels)[np.minimum(3.0 * t, 2.0).astype(int)],
            "nest": [f"nest {k}" for k in np.rint(7.0 * t + 0.3 * noise[3]).clip(0, 7).astype(int)],
            "grade": pd.Categorical.from_codes((2.99 * t).astype(int), dtype=ordered),
            "ringed": np.sin(9.0 * t) + 0.1 * noise[4] > 0.0,
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta((300 * t).astype(int), unit="D"),
            "always": "yes",
        }
    )


def with_gaps(frame, share=0.15):
    """Return a frame with random gaps; no row or column loses everything."""
    rng = np.random.default_rng(1)
    holes = rng.random(frame.shape) < share
    holes[:, 0] = False
    gapped = frame.copy()
    for number, name in enumerate(frame.columns):
        values = frame[name]
        if values.dtype == bool:
            values = values.astype("boolean")
        elif values.dtype.kind == "i":
            values = values.astype("Int64")
        gapped[name] = values.mask(holes[:, number])
    return gapped
