"""Models that the tests of the command line share; no test changes their files."""

import pytest
from cli_runs import QUICK, ROLES, run, write_flowers


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flowers")
    run("fit", write_flowers(folder), *QUICK, *ROLES, "-o", folder / "m.twofold")
    return folder


@pytest.fixture(scope="session")
def data(folder):
    """Return the table that the models are fitted to."""
    return folder / "flowers.csv"


@pytest.fixture(scope="session")
def model(folder):
    """Return a model whose encoder is a formula."""
    return folder / "m.twofold"


@pytest.fixture(scope="session")
def ukr(folder, data):
    """Return a model with candidates and a learning curve, whose encoder is a search."""
    run("fit", data, "-m", "ukr", "--set", "max_iter=5", *ROLES, "-o", folder / "ukr.twofold")
    return folder / "ukr.twofold"
