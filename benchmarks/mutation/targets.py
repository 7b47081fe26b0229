"""The files that are mutated, and the tests of each."""

SUMS = ["tests/numerics/test_sums.py", "tests/numerics/test_self_weights.py"]
OBJECTIVES = ["tests/ukr/test_objectives.py"]
LOADER = [
    "tests/export/test_hostile_files.py",
    "tests/export/test_model_files.py",
    "-k",
    "not many_rows",
]
MANY_ROWS = "tests/ukr/test_many_rows.py"

TARGETS = {
    "numerics/linalg.py": ["tests/numerics/test_linalg.py"],
    "numerics/density.py": ["tests/numerics/test_density.py"],
    "numerics/sums/dense.py": [*SUMS, *OBJECTIVES],
    "numerics/sums/pairs.py": [*SUMS, *OBJECTIVES],
    "numerics/sums/neighbors.py": [
        *SUMS,
        MANY_ROWS,
        "-k",
        "test_sums or compiled_means or compiled_density",
    ],
    "numerics/sums/cells.py": [
        *SUMS,
        MANY_ROWS,
        "-k",
        "cells or grid or loops or sorted or leaves or taken",
    ],
    "numerics/sums/grid.py": [
        *SUMS,
        MANY_ROWS,
        "-k",
        "cells or grid or loops or sorted or leaves or taken",
    ],
    "optimize/_small_systems.py": ["tests/optimize/test_gauss_newton.py"],
    "optimize/gauss_newton.py": ["tests/optimize/test_gauss_newton.py"],
    "optimize/lbfgs.py": [
        "tests/optimize/test_lbfgs.py",
        "tests/optimize/test_minimizers.py",
        "tests/optimize/test_each_minimizer.py",
        "tests/optimize/test_run_ends.py",
    ],
    "maps/nadaraya_watson.py": [
        f"{MANY_ROWS}::test_compiled_means_equal_their_twin",
        "tests/maps/test_maps.py",
        "-k",
        "not KernelRidgeMap",
    ],
    "maps/rbf_network.py": ["tests/maps/test_maps.py", "-k", "not KernelRidgeMap"],
    "principal_manifold/projection.py": ["tests/principal_manifold/test_projection.py"],
    "export/model_files.py": LOADER,
    "export/decoder.py": LOADER,
    "export/documents.py": LOADER,
    "export/special_values.py": LOADER,
    "export/contents/checking.py": LOADER,
    "export/contents/fields.py": ["tests/export/test_fields.py"],
}
"""For each file below ``src/twofold`` the arguments of pytest that run its own tests."""
