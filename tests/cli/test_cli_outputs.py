"""Output files: checks before any work, and no partial files after a failure."""

import os
from pathlib import Path

import pytest
from cli_runs import QUICK, ROLES, fails, files_in, run, write_flowers


def test_files_that_cannot_be_written(model, tmp_path):
    data = write_flowers(tmp_path)
    told = fails("transform", model, data, "-o", tmp_path / "out.xls", code=2)
    assert "has the suffix .xls; tables have .csv, .tsv" in told
    assert "has no suffix" in fails("transform", model, data, "-o", tmp_path / "out", code=2)
    assert "there is no folder" in fails(
        "transform", model, data, "-o", tmp_path / "no" / "out.csv"
    )
    (tmp_path / "folder.csv").mkdir()
    assert "it is a folder" in fails("transform", model, data, "-o", tmp_path / "folder.csv")
    before = data.read_bytes()
    told = fails("transform", model, data, "-o", data, code=2)
    assert "is read by this command" in told
    assert data.read_bytes() == before


def test_devices_are_not_replaced(model, tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    data = write_flowers(tmp_path)
    assert "it is not a regular file" in fails("transform", model, data, "-o", pipe)
    assert "it is not a regular file" in fails("fit", data, *QUICK, *ROLES, "-o", "/dev/null")
    assert not Path("/dev/null").is_file()
    assert pipe.is_fifo()


def test_files_behind_links_are_written(model, tmp_path):
    data = write_flowers(tmp_path)
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    run("transform", model, data, *ROLES, "-o", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("plant,twoway0")
    (tmp_path / "data.csv").symlink_to("flowers.csv")
    told = fails("transform", model, data, "-o", tmp_path / "data.csv", code=2)
    assert "is read by this command" in told


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_files_that_are_protected(model, tmp_path):
    data = write_flowers(tmp_path)
    out = tmp_path / "out.csv"
    out.write_text("kept")
    out.chmod(0o444)
    assert "permission denied" in fails("transform", model, data, "-o", out)
    assert out.read_text() == "kept"


def test_a_failure_while_writing_leaves_the_old_file(model, tmp_path, monkeypatch):
    data = write_flowers(tmp_path)
    out = tmp_path / "out.csv"
    out.write_text("old")
    write_bytes = Path.write_bytes

    def fill_the_disk(path, content):
        write_bytes(path, content[:20])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", fill_the_disk)
    assert "No space left on device" in fails("transform", model, data, *ROLES, "-o", out)
    assert out.read_text() == "old"
    assert files_in(tmp_path) == ["flowers.csv", "out.csv"]


def test_outputs_of_fit(tmp_path):
    data = write_flowers(tmp_path)
    fit = ("fit", data, *QUICK, *ROLES)
    assert "nothing to write" in fails(*fit, code=2)
    assert "with --embedding" in fails(*fit, "-o", tmp_path / "z.csv", code=2)
    assert "a model needs a file" in fails(*fit, "-o", "-", code=2)
    assert "no folder" in fails(*fit, "-o", tmp_path / "no" / "m.twofold")
    assert "is read by this command" in fails(*fit, "--embedding", data, code=2)
    assert "standard output" in fails(*fit, "--embedding", "-", "--json", code=2)
    assert files_in(tmp_path) == ["flowers.csv"]


def test_a_model_is_not_kept_where_its_latents_cannot_be(tmp_path, monkeypatch):
    def fill_the_disk(path, content):
        raise OSError(28, "No space left on device", str(path))

    data = write_flowers(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", fill_the_disk)
    out = ("-o", tmp_path / "m.twofold", "--embedding", tmp_path / "z.csv")
    assert "No space left" in fails("fit", data, *QUICK, *ROLES, *out)
    assert files_in(tmp_path) == ["flowers.csv"]
