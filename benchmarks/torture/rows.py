"""The rows of the torture table and the tests of each.

The tests of most rows are in tests/base/test_torture.py, once for each registered estimator; their
names begin with the number of the row, such as ``test_08_...``. The others are named here.
"""

import re
from dataclasses import dataclass

from benchmarks.harness import ROOT

MAIN = "tests/base/test_torture.py"


@dataclass(frozen=True)
class Row:
    """A kind of bad input or fault, and its tests outside of the main file."""

    name: str
    tests: tuple[str, ...] = ()


ROWS = {
    1: Row("NaN and infinity"),
    2: Row("no rows, no columns, one row"),
    3: Row("two rows; one iteration"),
    4: Row("impossible numbers of components"),
    5: Row("one column"),
    6: Row("a constant column"),
    7: Row("equal rows"),
    8: Row("duplicated rows"),
    9: Row("rank below the number of components"),
    10: Row("units of 1e150 and 1e-150"),
    11: Row("units of 1e300, 1e-300 and subnormal numbers"),
    12: Row("multiplied by powers of two"),
    13: Row("an offset of 1e8"),
    14: Row("permuted or rotated"),
    15: Row("types of numbers; text"),
    16: Row("sparse matrices", ("tests/base/test_sparse.py",)),
    17: Row("memory layouts, read-only arrays"),
    18: Row("data frames", ("tests/base/test_estimators.py::TestPromises::test_frames",)),
    19: Row("wrong widths; models that are not fitted"),
    20: Row(
        "a graph in pieces",
        (
            "tests/geodesics/test_graph.py::TestConnectComponents",
            "tests/isomap/test_isomap.py::TestAgglomerative::test_two_rolls_apart",
            "tests/isomap/test_isomap.py::TestSupervised::test_torn_classes_are_said",
        ),
    ),
    21: Row(
        "as many neighbors as rows",
        (
            "tests/geodesics/test_graph.py::TestKnnGraph::test_n_neighbors_out_of_range",
            "tests/isomap/test_isomap.py::TestAgglomerative::test_settings_are_checked",
        ),
    ),
    22: Row("labels", ("tests/isomap/test_isomap.py::TestSupervised::test_labels_are_checked",)),
    23: Row("one outlier", ("tests/ukr/test_ukr.py::test_homotopy_with_an_outlier",)),
    24: Row("rows and latents far away"),
    25: Row(
        "bandwidths near 0 and infinity",
        (
            "tests/maps/test_maps.py::test_extreme_widths_stay_finite",
            "tests/maps/test_maps.py::TestNadarayaWatson::test_limits_of_the_bandwidth",
        ),
    ),
    26: Row("seeds"),
    27: Row(
        "threads and processes",
        (
            "tests/numerics/test_threads.py",
            "tests/base/test_endurance.py::test_24_concurrent_transforms",
        ),
    ),
    28: Row("interrupts"),
    29: Row(
        "copies and model files",
        (
            "tests/base/test_estimators.py::TestPromises::test_copies_are_equal",
            "tests/export/test_model_files.py::test_round_trip_is_bit_equal",
        ),
    ),
    30: Row(
        "damaged and forged model files",
        (
            "tests/export/test_model_files.py::test_truncated",
            "tests/export/test_model_files.py::test_bit_flips",
            "tests/export/test_model_files.py::test_every_bit_of_the_archives_directory",
            "tests/export/test_hostile_files.py",
            "tests/export/test_forged_files.py",
            "tests/export/test_model_files.py::test_not_a_model",
        ),
    ),
    31: Row(
        "a full disk, unwritable files",
        (
            "tests/export/test_model_files.py::test_a_failed_write_leaves_the_old_file",
            "tests/cli/test_cli_outputs.py",
        ),
    ),
    32: Row(
        "too many rows for the memory",
        (
            "tests/ukr/test_kernel_regression.py::test_too_large_says_so_before_allocating",
            "tests/ukr/test_many_rows.py::TestFit::test_what_does_not_fit_into_memory_is_refused",
            "tests/isomap/test_isomap.py::TestAgglomerative::test_too_many_rows_for_memory",
            "tests/maps/test_maps.py::TestKernelRidgeMap::test_memory_is_estimated",
        ),
    ),
    33: Row(
        "very many calls",
        (
            "tests/base/test_endurance.py::test_transforms_leave_no_array",
            "tests/base/test_endurance.py::test_very_many_transforms_and_fits",
        ),
    ),
    34: Row(
        "lost workers and bad blocks of Dask",
        ("tests/dask/test_faults.py", "tests/dask/test_checkpoints.py"),
    ),
    35: Row(
        "hostile text in the explorer page; decoding in the browser",
        (
            "tests/export/test_explorer.py::test_no_label_becomes_markup",
            "tests/export/test_explorer.py::test_the_policy_forbids_everything_else",
            "tests/export/test_explorer_browser.py::test_nasty_labels",
            "tests/export/test_explorer_browser.py::test_the_browser_decodes_as_python_does",
        ),
    ),
    36: Row(
        "bad tables and faults on the command line",
        ("tests/cli/test_cli_torture.py",),
    ),
}
"""The rows by number."""


def row_of(node):
    """Return the number of the row that a test belongs to, by its pytest node id, or None."""
    test, _, _ = node.partition("[")
    file, _, name = test.partition("::")
    if file == MAIN:
        number = name.removeprefix("test_").partition("_")[0]
        return int(number) if number.isdigit() else None
    for number, row in ROWS.items():
        if any(test == known or test.startswith(f"{known}::") for known in row.tests):
            return number
    return None


def tests(numbers):
    """Return what pytest has to run for rows of these numbers."""
    names = re.findall(r"^def (test_\w+)", (ROOT / MAIN).read_text(encoding="utf-8"), re.MULTILINE)
    main = [f"{MAIN}::{name}" for name in names if row_of(f"{MAIN}::{name}") in numbers]
    return [*main, *(test for number in numbers for test in ROWS[number].tests)]
