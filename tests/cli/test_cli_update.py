"""``twofold update``: new rows into a model file."""

import json

import pytest
from cli_runs import fails, run, write_flowers

import twofold


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("update")
    data = write_flowers(folder)
    lines = data.read_text(encoding="utf-8").splitlines()
    old, new = folder / "old.csv", folder / "new.csv"
    old.write_text("\n".join(lines[:-12]) + "\n", encoding="utf-8")
    new.write_text("\n".join([lines[0], *lines[-12:]]) + "\n", encoding="utf-8")
    settings = ("--label", "kind", "--id", "plant", "-m", "ukr", "--set", "init=pca")
    run("fit", old, *settings, "-o", folder / "old.twofold")
    return folder, old, new


def test_a_new_model_is_written(files):
    folder, _, new = files
    before = (folder / "old.twofold").read_bytes()
    found = run("update", folder / "old.twofold", new, "-o", folder / "new.twofold")
    assert "new rows " in found.stdout
    assert "share of new rows off the old manifold" in found.stdout
    assert "new.twofold" in found.stdout
    assert (folder / "old.twofold").read_bytes() == before
    old, grown = (twofold.load(folder / name) for name in ("old.twofold", "new.twofold"))
    assert len(grown.embedding_) == len(old.embedding_) + 12
    assert run("transform", folder / "new.twofold", new).stdout  # the roles of columns are kept


def test_a_report_needs_no_model(files):
    folder, _, new = files
    found = json.loads(run("update", folder / "old.twofold", new, "--report", "--json").stdout)
    assert found["n_new"] == 12
    assert found["model"] is None
    assert 0.0 <= found["share_off"] <= 1.0


def test_wrong_usage(files):
    folder, old, new = files
    assert "nothing to write" in fails("update", folder / "old.twofold", new, code=2)
    assert "needs a file" in fails("update", folder / "old.twofold", new, "-o", "-", code=2)
    assert "is the model" in fails("update", folder / "old.twofold", new, "-o", "x.csv", code=2)
    run("fit", old, "--label", "kind", "--id", "plant", "-m", "isomap", "-o", folder / "i.twofold")
    message = fails("update", folder / "i.twofold", new, "-o", folder / "j.twofold")
    assert "cannot take new rows in" in message
    assert "bug" not in message
    assert not (folder / "j.twofold").exists()
