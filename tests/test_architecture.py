"""The layers of the design: imports go down only. What each file imports is read off its text."""

import ast
from pathlib import Path

import pytest

import twofold

SOURCE = Path(twofold.__file__).parent

LAYERS = {
    "protocols": 0,
    "_blocks": 0,
    "_files": 0,
    "_leaves": 0,
    "_linalg": 0,
    "_memory": 0,
    "_path_loops": 0,
    "_units": 0,
    "_validation": 0,
    "kernels": 1,
    "sums": 1,
    "neighbour_search": 1,
    "losses": 1,
    "penalties": 1,
    "dissimilarities": 1,
    "graph": 1,
    "scaling": 1,
    "metrics": 1,
    "datasets": 1,
    "widths": 1,
    "domains": 1,
    "node_kernels": 1,
    "landmarks": 1,
    "feature_spaces": 1,
    "maps": 2,
    "objectives": 2,
    "optimize": 2,
    "initializers": 2,
    "density": 3,
    "encoders": 3,
    "selection": 3,
    "candidates": 3,
    "kernel_regression": 3,
    "coarse_map": 3,
    "adaptation": 3,
    "unsupervised_regression": 3,
    "joint_regression": 3,
    "domain_projection": 3,
    "quantization": 3,
    "soft_quantization": 3,
    "generalization": 3,
    "_object_graph": 3,
    "model_files": 3,
    "estimators": 4,
    "__main__": 5,
    "closed_forms": 5,
    "explorer": 5,
    "cli": 5,
    "onnx": 5,
    "dask": 5,
    "plotting": 5,
    "reproduce": 5,
}
SEPARATE = 2
"""In this layer blocks meet only through protocols and never import each other."""

OPTIONAL = {
    "numba",
    "matplotlib",
    "dask",
    "distributed",
    "pandas",
    "click",
    "rich",
    "onnx",
    "pyarrow",
    "PIL",
    "umap",
    "ugtm",
    "torch",
}

FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def block_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path):
    """Yield (module, whether at the top of the file) for each import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            if node.module == "twofold":
                for alias in node.names:
                    yield f"twofold.{alias.name}", id(node) in top
            else:
                yield node.module, id(node) in top


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path):
    here = block_of(path)
    assert here in LAYERS, f"{here} has no layer: give it one here and in the design"
    for module, _ in imports(path):
        if not module.startswith("twofold."):
            continue
        there = module.split(".")[1]
        if there == here:
            continue
        if there not in LAYERS:  # a name of the package itself, such as TwoWay
            assert LAYERS[here] == 5
            continue
        assert LAYERS[there] <= LAYERS[here], f"{here} (layer {LAYERS[here]}) imports {module}"
        if LAYERS[here] == SEPARATE:
            assert LAYERS[there] < SEPARATE, f"{here} imports its neighbour {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_optional_dependencies_are_imported_at_the_edges_and_inside(path):
    for module, at_top in imports(path):
        if module.split(".")[0] in OPTIONAL:
            if module == "numba" and path.name in (
                "_loops.py",
                "_local_loops.py",
                "_path_loops.py",
            ):
                continue  # itself imported on first need only
            assert LAYERS[block_of(path)] == 5 or not at_top
            assert not at_top or block_of(path) == "cli"


def test_no_layer_is_listed_for_nothing():
    assert {block_of(path) for path in FILES} == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_one_idea_a_file(path):
    """Docstrings, with an example each, do not count: they grow with what is said, not with what is done."""
    text = path.read_text(encoding="utf-8")
    kinds = ast.FunctionDef | ast.ClassDef
    documented = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    n_said = sum(len((ast.get_docstring(node) or "").splitlines()) for node in documented)
    assert len(text.splitlines()) - n_said <= 360
