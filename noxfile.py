#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The sessions of continuous integration, on this machine: ``pip install nox && nox -l``.

``nox -s tests-3.12`` runs the tests with one Python, ``nox`` runs the sessions that take minutes.
Everything else that a submission must pass is in ``.ci/run``.
"""

import os
import shutil
import tarfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
DIST = ROOT / "dist"
LARGEST_WHEEL = 1_000_000


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """Run the tests with the newest dependencies; arguments go to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest dependencies that pyproject.toml allows."""
    session.install("-e", ".[test]", "-c", ".ci/lowest.txt")
    # scikit-learn 1.6 lists some of its checks twice.
    options = ["-o", "strict_parametrization_ids=false"]
    session.run("pytest", *options, *session.posargs)


@nox.session(default=True)
def lint(session: nox.Session) -> None:
    """Check format, lint and spelling."""
    session.install("ruff>=0.9", "codespell>=2.3")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "paper/paper.md"]
    session.run("codespell", "src", "tests", "docs", "examples", "benchmarks", *pages)


@nox.session(default=True)
def types(session: nox.Session) -> None:
    """Check types: strictly in the sources, and in a user's script."""
    session.install(".", "mypy>=1.14", "matplotlib", "click", "rich")
    session.run("mypy")
    session.run("mypy", "--strict", "--config-file", os.devnull, "tests/typing/user_script.py")


@nox.session(default=False)
def pyright(session: nox.Session) -> None:
    """Check the types of a user's script by pyright, which needs Node.js."""
    session.install(".", "pyright")
    session.run("pyright", "tests/typing/user_script.py")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation without warnings; ``-- -D plot_gallery=0`` leaves out figures."""
    session.install("-e", ".[all,docs]")
    command = ["sphinx-build", "-W", "--keep-going", "-b", "html", *session.posargs]
    session.run(*command, "docs", "docs/_build/html")


@nox.session(default=True)
def build(session: nox.Session) -> None:
    """Build sdist and wheel into dist/, and check them."""
    session.install("build", "twine", "check-wheel-contents")
    shutil.rmtree(DIST, ignore_errors=True)
    session.run("python", "-m", "build")
    session.run("twine", "check", "--strict", built("*.tar.gz"), built("*.whl"))
    session.run("check-wheel-contents", built("*.whl"))
    size = Path(built("*.whl")).stat().st_size
    if size >= LARGEST_WHEEL:
        session.warn(f"the wheel has {size} bytes; the aim is less than {LARGEST_WHEEL}")


@nox.session(default=False)
def wheel(session: nox.Session) -> None:
    """Install the wheel of dist/ and run the main command: ``nox -s build wheel``."""
    session.install(f"{built('*.whl')}[all]")
    session.cd(session.create_tmp())
    session.run("twofold", "demo")


@nox.session(default=False)
def sdist(session: nox.Session) -> None:
    """Run the tests of the sdist of dist/, unpacked: ``nox -s build sdist -- tests/maps``."""
    archive, folder = built("*.tar.gz"), Path(session.create_tmp())
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    session.cd(folder / Path(archive).name.removesuffix(".tar.gz"))
    session.install(".[test]")
    session.run("pytest", *session.posargs)


def built(pattern: str) -> str:
    """Return the one file of dist/ that matches."""
    (found,) = DIST.glob(pattern)
    return str(found)


if __name__ == "__main__":
    nox.main()
