"""Tables of all kinds for the tests of this folder."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def mixed():
    """Return a frame with a column of every kind that follows one hidden number."""
    rng = np.random.default_rng(0)
    hidden = rng.uniform(0.0, 3.0, 120)
    level = np.floor(hidden).astype(int)
    return pd.DataFrame(
        {
            "length": 10.0 + hidden + 0.1 * rng.normal(size=120),
            "count": np.rint(20 * hidden).astype(np.int16),
            "price": np.exp(2.0 * hidden + 0.1 * rng.normal(size=120)),
            "species": np.array(["ant", "bee", "cat"])[level],
            "size": pd.Categorical.from_codes(level, ["S", "M", "L", "XL"], ordered=True),
            "tame": hidden > 1.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.rint(100 * hidden), unit="D"),
        }
    )
