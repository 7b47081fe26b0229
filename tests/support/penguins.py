"""A small table like that of the Palmer penguins: categories, numbers, gaps."""

import numpy as np
import pandas as pd

NUMBERS = ["bill_mm", "flipper_mm", "mass_g"]
CATEGORIES = ["species", "island", "sex"]


def penguins(n_rows=60):
    rng = np.random.default_rng(0)
    kind, sex = rng.integers(3, size=n_rows), rng.integers(2, size=n_rows)
    size = kind + 0.5 * sex + 0.1 * rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
            "island": np.array(["Dream", "Torgersen", "Biscoe"])[kind],
            "bill_mm": np.round(38 + 5 * size, 1),
            "flipper_mm": np.round(180 + 15 * size).astype(int),
            "mass_g": np.round(3200 + 800 * size).astype(int),
            "sex": np.array(["female", "male"])[sex],
        }
    )
    frame["flipper_mm"] = frame["flipper_mm"].astype("Int64")
    frame.loc[3, ["bill_mm", "flipper_mm", "sex"]] = None
    frame.loc[7, "sex"] = None
    return frame


def write_penguins(folder, name="penguins.csv"):
    path = folder / name
    penguins().to_csv(path, index=False, na_rep="NA")  # as R writes it
    return path
