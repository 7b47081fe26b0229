"""What users read is true: docstring examples and the Python blocks of the Markdown pages run."""

import doctest
import importlib
import multiprocessing.process
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from public import PUBLIC_MODULES

import twofold

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("guide/*.md")),
    *sorted(DOCS.glob("howto/*.md")),
    *sorted(DOCS.glob("papers/*.md")),
]
API_PAGES = sorted(DOCS.glob("api/*.md"))
MODULES = [
    module.name
    for module in pkgutil.walk_packages(twofold.__path__, "twofold.")
    if not module.name.endswith("__main__")
]


def page_name(page):
    """Return the path of a page from the top, as the name of a test."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name.startswith("twofold.anndata"):
        pytest.importorskip("anndata")
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    # Spawned processes, such as Dask's workers, begin where this one was when it began.
    monkeypatch.setattr(multiprocessing.process, "ORIGINAL_DIR", str(tmp_path))
    text = page.read_text(encoding="utf-8")
    if "import anndata" in text:
        pytest.importorskip("anndata")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, page.name, "exec"), namespace)


def test_the_first_pages_open_with_the_same_lines():
    """Python and the command line, before anything else."""
    texts = [
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/index.md", "docs/command-line.md")
    ]
    openings = {
        tuple(re.findall(r"```(?:python|sh)\n.*?```", text, re.DOTALL)[:2]) for text in texts
    }
    ((python, shell),) = openings
    assert "AutoTwoWay" in python
    assert "twofold explore wines.csv" in shell


@pytest.mark.parametrize("page", [*PAGES, *API_PAGES], ids=page_name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        assert target.startswith("http") or path.exists(), target


@pytest.mark.parametrize("page", [*PAGES[1:], *API_PAGES], ids=page_name)
def test_every_page_is_in_a_table_of_contents(page):
    listed = set()
    for other in [*PAGES[1:], *API_PAGES]:
        for block in re.findall(
            r"```\{toctree\}\n(.*?)```", other.read_text(encoding="utf-8"), re.DOTALL
        ):
            lines = [line for line in block.splitlines() if line and not line.startswith(":")]
            entries = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
            listed |= {(other.parent / f"{entry}.md").resolve() for entry in entries}
    assert page == DOCS / "index.md" or page in listed


def reference():
    """Return the names of the API reference by module: on pages of their own, and in sentences."""
    pages, sentences = {}, {}
    for page in API_PAGES:
        for section in page.read_text(encoding="utf-8").split("\n## ")[1:]:
            (module,) = re.findall(r"^\.\. currentmodule:: (\S+)$", section, re.MULTILINE)
            pages.setdefault(module, set()).update(re.findall(r"^   (\w+)$", section, re.MULTILINE))
            for sentence in re.findall(
                r"^Besides: (.*?)(?:\n\n|\Z)", section, re.MULTILINE | re.DOTALL
            ):
                names = re.findall(r"(?:^|; )`(\w+)`,", " ".join(sentence.split()))
                sentences.setdefault(module, set()).update(names)
    return pages, sentences


def test_the_reference_is_complete():
    pages, sentences = reference()
    assert set(pages) == set(PUBLIC_MODULES)
    assert all(len(names & sentences.get(module, set())) == 0 for module, names in pages.items())
    modules = {name: importlib.import_module(name) for name in PUBLIC_MODULES}
    on_a_page = {id(getattr(modules[m], name)) for m, names in pages.items() for name in names}
    for name, module in modules.items():
        missing = {
            public
            for public in module.__all__
            if id(getattr(module, public)) not in on_a_page
            and public not in sentences.get(name, set()) | {"__version__"}
        }
        assert missing == set(), name


def test_the_reference_names_what_exists():
    for found in reference():
        for module, names in found.items():
            assert names <= set(importlib.import_module(module).__all__), module


@pytest.mark.skipif(not (ROOT / "examples" / "estimators").is_dir(), reason="no gallery here")
@pytest.mark.parametrize("name", [name for name in twofold.__all__ if name[0].isupper()])
def test_the_gallery_has_every_estimator(name):
    if not hasattr(getattr(twofold, name), "fit"):
        pytest.skip("no estimator")
    scripts = sorted((ROOT / "examples" / "estimators").glob("plot_*.py"))
    text = "".join(script.read_text(encoding="utf-8") for script in scripts)
    assert re.search(rf"\b{name}\(", text)


@pytest.mark.slow  # CI runs them all while it builds the documentation
@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*/plot_*.py")), ids=lambda p: p.name
)
def test_examples_run(script):
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
