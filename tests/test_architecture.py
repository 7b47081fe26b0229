"""The layers of the design: imports go down only. What each file imports is read off its text.

A layer belongs to the longest prefix of a module's name. A string that names a module of ours is an
import made later, and counts as one.
"""

import ast
from pathlib import Path

import pytest

import twofold

SOURCE = Path(twofold.__file__).parent

LAYERS = {
    "_version": 0,
    "protocols": 0,
    "numerics": 0,
    "numerics.bandwidths": 1,
    "numerics.codebooks": 1,
    "numerics.density": 1,
    "numerics.neighbors": 1,
    "numerics.new_regions": 1,
    "numerics.sums": 1,
    "kernels": 1,
    "losses": 1,
    "geodesics": 1,
    "counts": 1,
    "datasets": 1,
    "metrics": 1,
    "maps": 2,
    "optimize": 2,
    "base.problem": 2,
    "base.progress": 2,
    "maps.compression": 3,
    "maps.local_projection": 3,
    "maps.projection": 3,
    "maps.projection_loops": 3,
    "maps.pair_selection": 3,
    "manifold_geometry": 3,
    "starts": 3,
    "explaining": 3,
    "calibration": 3,
    "pipelines": 3,
    "export.archives": 3,
    "export.array_forms": 3,
    "export.contents": 3,
    "export.decoder": 3,
    "export.documents": 3,
    "export.encoder": 3,
    "export.errors": 3,
    "export.model_files": 3,
    "export.object_graph": 3,
    "export.roles": 3,
    "export.special_values": 3,
    "export.upgrades": 3,
    "base": 4,
    "ukr": 4,
    "drur": 4,
    "principal_manifold": 4,
    "sne": 4,
    "isomap": 4,
    "two_way": 4,
    "model_selection": 5,
    "auto": 5,
    "tables": 5,
    "aligning": 5,
    "anndata": 6,
    "export": 6,
    "dask": 6,
    "plotting": 6,
    "cli": 6,
    "__init__": 6,
    "__main__": 6,
}
EDGES = 6
"""The layer of the edges, which may use optional dependencies and the package itself."""

APART = {"maps", "optimize"}
"""Blocks of layer 2 meet only through protocols and never import each other."""

METHODS = {"ukr", "drur", "principal_manifold", "sne", "isomap", "two_way"}
"""Methods do not import each other, and their base imports none of them."""

MOST_LOOSE_MODULES = 6

NAMED_LATER = {
    "base.dask_inputs": "Dask collections as arguments are handed to the edge that knows them",
    "base.exploring": "the explorer page of a fitted model, made at an edge",
    "export.object_graph": "the classes that a model file may name",
}
"""Modules that may name higher ones in strings, with the reason."""

OPTIONAL = {
    "numba",
    "anndata",
    "anywidget",
    "matplotlib",
    "dask",
    "distributed",
    "pandas",
    "polars",
    "click",
    "rich",
    "onnx",
    "pyarrow",
    "PIL",
    "umap",
    "ugtm",
    "torch",
    "traitlets",
}

FILES = sorted(SOURCE.rglob("*.py"))


def module_of(path):
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    return name.removesuffix(".__init__")


def prefix_of(module):
    parts = module.split(".")
    prefixes = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in LAYERS), None)


def is_module(name):
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports(path):
    """Yield (module, whether at the top of the file, whether a string) for each import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top, False
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                if node.module.startswith("twofold") and is_module(below.removeprefix("twofold.")):
                    yield below, id(node) in top, False
                else:
                    yield node.module, id(node) in top, False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if name.startswith("twofold.") and is_module(name.removeprefix("twofold.")):
                yield name, False, True


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path):
    here = module_of(path)
    layer = LAYERS.get(prefix_of(here))
    assert layer is not None, f"{here} has no layer: give it one here and in CONTRIBUTING.md"
    for name, _, is_string in imports(path):
        if not name.startswith("twofold.") or (is_string and here in NAMED_LATER):
            continue
        there = name.removeprefix("twofold.")
        if prefix_of(there) is None:  # a name of the package itself, such as TwoWay
            assert layer == EDGES, f"{here} imports {name} through the package"
            continue
        if path.name == "__init__.py" and there.startswith(f"{here}."):
            continue  # a package shows what is in it, whatever the layers of its modules
        theirs = LAYERS[prefix_of(there)]
        assert theirs <= layer, f"{here} (layer {layer}) imports {there} (layer {theirs})"
        room, other = here.split(".")[0], there.split(".")[0]
        if room == other:
            continue
        if layer == 2 and room in APART:
            assert other not in APART, f"{here} imports its neighbor {there}"
        if layer == 4:
            assert other not in METHODS, f"{here} imports the method {there}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_optional_dependencies_are_imported_at_the_edges_and_inside(path):
    here = module_of(path)
    for name, at_top, _ in imports(path):
        if name.split(".")[0] not in OPTIONAL:
            continue
        if name == "numba" and path.stem.endswith("loops"):
            continue  # itself imported on first need only
        assert LAYERS[prefix_of(here)] == EDGES or not at_top
        assert not at_top or here.startswith("cli.")


def test_no_layer_is_listed_for_nothing():
    assert {prefix_of(module_of(path)) for path in FILES} - {"twofold"} == set(LAYERS)


def test_few_modules_lie_loose():
    loose = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert len(loose) <= MOST_LOOSE_MODULES, f"give these a room: {sorted(loose)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_one_idea_a_file(path):
    """Docstrings do not count: they grow with what is said, not with what is done."""
    text = path.read_text(encoding="utf-8")
    kinds = ast.FunctionDef | ast.ClassDef
    documented = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    n_said = sum(len((ast.get_docstring(node) or "").splitlines()) for node in documented)
    assert len(text.splitlines()) - n_said <= 360
