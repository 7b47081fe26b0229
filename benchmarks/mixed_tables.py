"""Removed cells of tables with numbers and categories: `TableMap` beside FAMD and one-hot columns.

    python -m benchmarks.mixed_tables [--sets penguins tips wine vehicle] [--seeds 0 1 2 3 4]
                                      [--quick] [--json mixed_tables.json]
    python -m benchmarks.mixed_tables publish mixed_tables.json

A fifth of the cells is removed at random. Figures are those of these cells: the share of categories
that are found, the root mean squared error of numbers in units of each column's standard deviation,
and how many values are not among the categories of their column. *wine* and *vehicle* (UCI) have
every second column cut into four categories at its quartiles.

The second command keeps the sets of a file in ``mixed_tables.json`` beside this file and writes the
section of docs/measured.md.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd

from benchmarks.harness import ROOT
from benchmarks.harness.kept import figures_table, origin, publish, recorded
from benchmarks.harness.records import write_json

KEPT = ROOT / "benchmarks" / "mixed_tables.json"
PAGE = ROOT / "docs" / "measured.md"
MARKS = (
    "<!-- mixed tables: written by python -m benchmarks.mixed_tables publish; do not edit -->",
    "<!-- mixed tables: end -->",
)
SHARE, N_LEVELS, QUICK_ROWS, TURNS = 0.2, 4, 120, 20
PACKAGES = ("pandas", "prince", "palmerpenguins", "plotly")
NOTHING = "No figures have been published yet."
ABOUT = (
    "Cells of mixed tables, 20 % of them removed at random: the share of categories that are found "
    "(accuracy), the root mean squared error of numbers in units of each column's standard "
    "deviation, and the number of values that are no category of their column (invalid); means "
    "over seeds. *wine* and *vehicle* have every second column cut into four categories. FAMD "
    "(`prince`, two components) needs a complete table: gaps get means and modes first, and a "
    "linear regression decodes its coordinates; iterated, the decoded gaps are filled in again, 20 "
    "times. One-hot columns with gaps at their means, standardized, are reconstructed by `UKR`."
)


def penguins():
    """Return the penguins, with the gaps that they have."""
    from palmerpenguins import load_penguins

    return load_penguins()


def tips():
    """Return the tips."""
    from plotly.data import tips as load

    return pd.DataFrame(load())


def cut(name):
    """Return how to load a table of UCI with every second column cut into categories."""

    def load():
        from twofold.datasets import load_uci

        frame = pd.DataFrame(load_uci(name)["X"]).rename(columns=lambda column: f"x{column}")
        for column in frame.columns[1::2]:
            levels = pd.qcut(frame[column], N_LEVELS, labels=False, duplicates="drop")
            frame[column] = levels.map("level {}".format).astype(object)
        return frame

    return load


TABLES = {"penguins": penguins, "tips": tips, "wine": cut("wine"), "vehicle": cut("vehicle")}


def numbers_of(frame):
    """Return the names of the numeric columns."""
    return frame.select_dtypes("number").columns.tolist()


def with_gaps(frame, seed):
    """Return the frame with cells removed, and which cells (n, D); every row keeps some."""
    known = frame.notna().to_numpy()
    removed = known & (np.random.default_rng([seed, 3]).random(frame.shape) < SHARE)
    removed &= (known & ~removed).any(axis=1)[:, None]
    gaps = frame.astype(dict.fromkeys(numbers_of(frame), np.float64)).mask(removed)
    return gaps, removed


def table_map(model):
    """Return the imputer of `TableMap`, around AutoTwoWay (None) or another estimator."""

    def impute(frame, seed):
        import twofold

        inside = None if model is None else getattr(twofold, model)(random_state=seed)
        return twofold.TableMap(inside, random_state=seed).fit(frame).impute(frame)

    return impute


def most_frequent(frame, seed=0):  # noqa: ARG001 - it draws nothing
    """Impute medians and modes."""
    numbers = numbers_of(frame)
    fill = {
        name: frame[name].median() if name in numbers else frame[name].mode()[0] for name in frame
    }
    return frame.fillna(fill)


def famd(turns):
    """Return the imputer by factor analysis of mixed data."""

    def impute(frame, seed):
        from prince import FAMD
        from sklearn.linear_model import LinearRegression

        numbers, gaps = numbers_of(frame), frame.isna()
        categories = [name for name in frame if name not in numbers]
        filled = most_frequent(frame).fillna(dict(frame[numbers].mean()))
        for _ in range(turns):
            model = FAMD(n_components=2, random_state=seed, categorical_columns=categories)
            Z = np.asarray(model.fit(filled).row_coordinates(filled))
            predicted = filled.copy()
            for name in frame:
                known = ~gaps[name].to_numpy()
                target = filled[[name]] if name in numbers else pd.get_dummies(filled[name])
                line = LinearRegression().fit(Z[known], target[known].to_numpy(dtype=float))
                found = line.predict(Z)
                is_number = name in numbers
                levels = None if is_number else target.columns.to_numpy()
                predicted[name] = found[:, 0] if is_number else levels[found.argmax(axis=1)]
            filled = frame.where(~gaps, predicted)
        return filled

    return impute


def one_hot(frame, seed):
    """Impute by `UKR` on standardized indicators and numbers, with gaps at their means."""
    from twofold import UKR

    numbers = numbers_of(frame)
    blocks = {name: frame[[name]] if name in numbers else indicators(frame[name]) for name in frame}
    joined = pd.concat(blocks.values(), axis=1).to_numpy(dtype=float)
    center, scale = np.nanmean(joined, axis=0), np.nanstd(joined, axis=0)
    scale[scale == 0.0] = 1.0
    unit = np.nan_to_num((joined - center) / scale)
    rebuilt = UKR(random_state=seed).fit(unit).reconstruct(unit) * scale + center
    predicted, start = frame.copy(), 0
    for name, block in blocks.items():
        part = rebuilt[:, start : start + block.shape[1]]
        start += block.shape[1]
        if name in numbers:
            predicted[name] = part[:, 0]
        else:
            predicted[name] = block.columns.to_numpy()[part.argmax(axis=1)]
    return frame.where(frame.notna(), predicted)


def indicators(column):
    """Return one column for each category, NaN where the category is unknown."""
    return pd.get_dummies(column, dtype=float).mask(column.isna())


METHODS = {
    "TableMap()": table_map(None),
    "TableMap(UKR())": table_map("UKR"),
    "FAMD": famd(1),
    "FAMD, iterated": famd(TURNS),
    "one-hot, scaled, UKR": one_hot,
    "median, mode": most_frequent,
}


def judged(frame, removed, filled):
    """Return the figures of a filled frame."""
    numbers = numbers_of(frame)
    right, squares, invalid = [], [], 0
    for position, name in enumerate(frame):
        rows = removed[:, position]
        truth, found = frame[name].to_numpy()[rows], pd.Series(filled[name]).to_numpy()[rows]
        if name in numbers:
            deviation = float(frame[name].std(ddof=0))
            errors = (found.astype(float) - truth.astype(float)) / (deviation or 1.0)
            squares.extend(np.square(errors))
        else:
            right.extend(found == truth)
            levels = set(frame[name].dropna())
            invalid += sum(one not in levels for one in pd.Series(filled[name]).tolist())
    return {
        "accuracy": float(np.mean(right)),
        "rmse": float(np.sqrt(np.mean(squares))),
        "invalid": int(invalid),
    }


def run(names, seeds, quick):
    """Return the records of the sets by name."""
    found = {}
    for name in names:
        try:
            frame = TABLES[name]()
        except (ImportError, OSError) as error:
            print(f"{name}: left out, {error}")
            continue
        frame = frame.iloc[:: -(-len(frame) // QUICK_ROWS)] if quick else frame
        frame = frame.reset_index(drop=True)
        records = [_measured(name, frame, seed, method) for seed in seeds for method in METHODS]
        found[name] = recorded({"quick": quick, "cells": records}, *PACKAGES)
    return found


def _measured(name, frame, seed, method):
    gaps, removed = with_gaps(frame, seed)
    began, record = time.perf_counter(), {"seed": seed, "method": method}
    try:
        filled = METHODS[method](gaps, seed)
        record |= {"seconds": time.perf_counter() - began, **judged(frame, removed, filled)}
    except Exception as error:  # noqa: BLE001 - any failure is a result
        record["failed"] = f"{type(error).__name__}: {error}"
    figures = {key: value for key, value in record.items() if key not in ("seed", "method")}
    print(f"{name}, seed {seed}, {method}: {figures}", flush=True)
    return record


def section(parts):
    """Return the table of the page."""
    if not parts:
        return NOTHING
    rows = {}
    for name, record in parts.items():
        for method in METHODS:
            found = [one for one in record["figures"]["cells"] if one["method"] == method]
            rows[f"{name}, {method}"] = _means(found)
    command = "python -m benchmarks.mixed_tables --sets"
    origins = " ".join(origin(f"{command} {name}", record) for name, record in parts.items())
    return f"{origins} {ABOUT}\n\n{figures_table('set, method', rows)}"


def _means(found):
    """Return the means of figures over seeds; of invalid values the sum."""
    if not found or any("failed" in one for one in found):
        return {"accuracy": "failed"}
    means = {key: float(mean(one[key] for one in found)) for key in ("accuracy", "rmse", "seconds")}
    return {
        "accuracy": means["accuracy"],
        "RMSE": means["rmse"],
        "invalid": sum(one["invalid"] for one in found),
        "seconds": means["seconds"],
    }


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    return _publish(arguments[1:]) if arguments[:1] == ["publish"] else _measure(arguments)


def _measure(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--quick", action="store_true", help="some 120 rows, not to publish")
    parser.add_argument("--json", type=Path, default=Path("mixed_tables.json"))
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(options.sets, options.seeds, options.quick)
    write_json(options.json, found)
    print(f"\n{section(found)}\n\nwritten: {options.json}")
    return 0


def _publish(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed_tables publish")
    parser.add_argument("file", type=Path, help="what a run has written")
    options = parser.parse_args(arguments)
    found = json.loads(options.file.read_text(encoding="utf-8"))
    if any(one["figures"]["quick"] for one in found.values()):
        parser.error(f"{options.file} is from a quick run, which is not published")
    publish(KEPT, found, list(TABLES), PAGE, MARKS, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
