"""Table formats of the command line: CSV, TSV, Parquet, NPY, NPZ, pipes and archives."""

import gzip
import io
import os
import threading

import numpy as np
import pandas as pd
import pytest
from cli_runs import FEATURES, QUICK, ROLES, fails, files_in, flowers, read_csv, run, write_flowers

from twofold import load

FORMATS = ("csv", "tsv", "parquet", "npy", "npz")


def write(frame, path):
    """Write a table as other programs would."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".npy":
        np.save(path, frame[FEATURES].to_numpy())
    elif path.suffix == ".npz":
        np.savez(path, X=frame[FEATURES].to_numpy(), y=frame["kind"].to_numpy(dtype=str))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def read(path, columns):
    """Return a table that the command line wrote as a frame of its numbers, and its labels."""
    if path.suffix == ".npy":
        return pd.DataFrame(np.load(path), columns=columns), None
    if path.suffix == ".npz":
        with np.load(path) as stored:
            assert list(stored["feature_names"]) == columns
            return pd.DataFrame(stored["X"], columns=columns), stored.get("y")
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    return frame[columns], frame.get("kind", frame.get("y"))  # in an NPZ labels are called y


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_every_format_goes_in_and_out(model, tmp_path, source, target):
    frame = flowers()
    data = write(frame, tmp_path / f"in.{source}")
    roles = ROLES if source in ("csv", "tsv", "parquet") else ()
    out = tmp_path / f"out.{target}"
    run("transform", model, data, *roles, "-o", out)
    expected = load(model).transform(frame[FEATURES])
    latents, labels = read(out, ["twoway0", "twoway1"])
    np.testing.assert_array_equal(latents.to_numpy(), expected)
    if source != "npy" and target != "npy":
        assert list(labels) == list(frame["kind"])
    assert files_in(tmp_path) == sorted([data.name, out.name])


@pytest.mark.parametrize("kind", ["tsv", "parquet", "feather", "npz"])
def test_what_was_written_is_read_again(model, tmp_path, kind):
    data = write_flowers(tmp_path)
    latents = tmp_path / f"latents.{kind}"
    run("transform", model, data, "-o", latents)
    roles = ("--label", "y") if kind == "npz" else ()
    again = run("reconstruct", model, latents, "--from-latents", *roles).stdout
    expected = run("reconstruct", model, data).stdout
    assert again == expected.replace("kind", "y") if roles else again == expected


def test_pipes(model):
    frame = flowers(5)
    text = frame.to_csv(index=False)
    result = run("transform", model, "-", *ROLES, stdin=text)
    assert result.stderr == ""
    found = read_csv(result.stdout)
    assert list(found.columns) == ["plant", "twoway0", "twoway1", "kind"]
    np.testing.assert_array_equal(found.iloc[:, 1:3], load(model).transform(frame[FEATURES]))
    content = io.BytesIO()
    frame.to_parquet(content)
    bytes_in = content.getvalue()
    binary = run(
        "transform",
        model,
        "-",
        "--format",
        "parquet",
        "--output-format",
        "npy",
        "--label",
        "kind",
        stdin=bytes_in,
    )
    latents = np.load(io.BytesIO(binary.stdout_bytes))
    np.testing.assert_array_equal(latents, found.iloc[:, 1:3])
    assert "kind is left out" in binary.stderr


def test_a_pipe_by_name(model, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = flowers(4).to_csv(index=False)
    writer = threading.Thread(target=lambda: pipe.write_text(text))
    writer.start()
    result = run("transform", model, pipe, *ROLES)
    writer.join()
    assert result.stdout.count("\n") == 5


def test_compressed_csv(model, tmp_path):
    data = tmp_path / "flowers.csv.gz"
    data.write_bytes(gzip.compress(flowers().to_csv(index=False).encode()))
    whole = run("transform", model, data, *ROLES).stdout
    assert whole.count("\n") == 41
    data.write_bytes(data.read_bytes()[:200])
    assert "cannot be unpacked" in fails("transform", model, data)
    data.write_bytes(b"no archive")
    assert "cannot be unpacked" in fails("transform", model, data)


def test_numbers_come_back_to_the_last_bit(tmp_path):
    values = np.random.default_rng(1).normal(size=(30, 2)) * 10.0 ** np.arange(-15, 15)[:, None]
    np.save(tmp_path / "a.npy", values)
    run("fit", tmp_path / "a.npy", *QUICK, "--scale", "none", "-o", tmp_path / "m.twofold")
    for name in ("b.csv", "b.npy"):
        run("transform", tmp_path / "m.twofold", tmp_path / "a.npy", "-o", tmp_path / name)
    text = read_csv(tmp_path / "b.csv").to_numpy()
    np.testing.assert_array_equal(text, np.load(tmp_path / "b.npy"))


def test_single_precision_is_kept(tmp_path, model):
    np.save(tmp_path / "a.npy", flowers()[FEATURES].to_numpy(dtype=np.float32))
    run("transform", model, tmp_path / "a.npy", "-o", tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").dtype == np.float32


def test_cells_that_need_quotes(tmp_path, model):
    frame = flowers(6)
    frame["plant"] = ['a "b"', "c,d", "e\nf", "", "ü", "g"]
    data = tmp_path / "q.csv"
    frame.to_csv(data, index=False)
    run("transform", model, data, *ROLES, "-o", tmp_path / "out.csv")
    back = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert list(back["plant"]) == list(frame["plant"])


def test_labels_that_look_like_missing_values(tmp_path, model):
    frame = flowers(6)
    frame["kind"] = ["NA", "None", "null", "", "nan", "rose"]
    data = tmp_path / "words.csv"
    frame.to_csv(data, index=False)
    run("transform", model, data, *ROLES, "-o", tmp_path / "out.csv")
    back = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert list(back["kind"]) == list(frame["kind"])


def test_names_that_are_taken_get_a_mark(tmp_path, model):
    frame = flowers(6).rename(columns={"plant": "twoway0", "kind": "file"})
    data = tmp_path / "t.csv"
    frame.to_csv(data, index=False)
    roles = ("--id", "twoway0", "--label", "file")
    header = run("transform", model, data, *roles).stdout.splitlines()[0]
    assert header == "twoway0_,twoway0,twoway1,file"
    run("transform", model, data, "--id", "file", "--drop", "twoway0", "-o", tmp_path / "o.npz")
    with np.load(tmp_path / "o.npz") as stored:
        assert sorted(stored.files) == ["X", "feature_names", "file_"]


def test_parquet_types(tmp_path):
    import decimal

    frame = flowers()[FEATURES].assign(
        whole=np.arange(40),
        flag=np.arange(40) % 2 == 0,
        price=[decimal.Decimal(number) / 4 for number in range(40)],
        maybe=pd.array([*range(39), None], dtype="Int64"),
    )
    frame.index = [f"r{number}" for number in range(40)]
    data = tmp_path / "types.parquet"
    frame.to_parquet(data)
    result = run("fit", data, *QUICK, "-o", tmp_path / "m.twofold")
    assert "the row index is left out" in result.stderr
    assert "40 rows of 7 features, 1 gap" in result.stderr
    assert load(tmp_path / "m.twofold").kinds_["flag"] == "boolean"
    drawn = tmp_path / "drawn.parquet"
    run("sample", tmp_path / "m.twofold", "-n", 4, "-o", drawn)
    types = pd.read_parquet(drawn).dtypes
    assert (types["whole"], types["flag"], types["maybe"]) == (np.int64, bool, np.int64)


def test_arrays_beside_the_table(tmp_path):
    frame = flowers()
    data = tmp_path / "d.npz"
    X = frame[FEATURES].to_numpy()
    np.savez(
        data, X=X, y=np.arange(40) % 3, name=frame["plant"].to_numpy(dtype=str), other=np.zeros(3)
    )
    out = tmp_path / "z.csv"
    result = run("fit", data, *QUICK, "--id", "name", "--embedding", out)
    assert "array X, 40 rows of 3 columns, beside it y, name" in result.stderr
    assert "labels are in the array y" in result.stderr
    assert list(read_csv(out).columns) == ["name", "twoway0", "twoway1", "y"]
    run("fit", data, *QUICK, "--drop", "y", "--embedding", out)
    assert list(read_csv(out).columns) == ["twoway0", "twoway1"]
    np.savez(data, table=X, mean=X.mean(axis=0))
    assert "array table" in run("fit", data, *QUICK, "--embedding", out).stderr


def test_labels_saved_as_objects(tmp_path):
    data = tmp_path / "objects.npz"
    kinds = flowers()["kind"].to_numpy(dtype=object)
    np.savez(data, X=flowers()[FEATURES].to_numpy(), y=kinds)
    result = run("fit", data, *QUICK, "-o", tmp_path / "m.twofold")
    reason = "it holds Python objects; save it as numbers or with dtype=str"
    assert f"warning: {data}: array y is not read: {reason}\n" in result.stderr
    labeled = run("fit", data, *QUICK, "--embedding", "-", "--label", "y", code=1)
    assert "there are x0, x1, x2" in labeled.stderr
    np.savez(data, X=kinds[:, None])
    assert "it holds Python objects" in fails("fit", data, *QUICK, "--embedding", "-")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"A": np.eye(3), "B": np.eye(3)}, "several of two dimensions: A, B"),
        ({"a": np.zeros(3)}, "none of two dimensions"),
        ({"X": np.zeros((3, 2, 2))}, "has shape (3, 2, 2)"),
        ({"X": np.array([["a"]])}, "holds real numbers"),
        ({"X": np.eye(3) * 1j}, "holds real numbers"),
        ({"X": np.zeros((0, 3))}, "has 3 columns and no rows"),
        ({"X": np.zeros((3, 0))}, "has no columns"),
        (
            {"X": np.eye(2), "feature_names": np.array(["a", "a"])},
            "more than one column with the name a",
        ),
    ],
)
def test_archives_that_hold_no_table(tmp_path, arrays, said):
    np.savez(tmp_path / "bad.npz", **arrays)
    assert said in fails("fit", tmp_path / "bad.npz", *QUICK, "--embedding", "-")


def test_parquet_that_is_none(tmp_path):
    data = tmp_path / "bad.parquet"
    flowers().to_parquet(data)
    for content in (b"", b"no table", data.read_bytes()[:-20]):
        data.write_bytes(content)
        assert "cannot be read as Parquet" in fails("fit", data, *QUICK, "--embedding", "-")


def test_files_of_numpy_that_are_none(tmp_path):
    good = tmp_path / "good.npy"
    np.save(good, np.eye(9))
    bad = tmp_path / "bad.npy"
    bad.write_bytes(good.read_bytes()[:300])
    assert "cannot be read as a NumPy file" in fails("fit", bad, *QUICK, "--embedding", "-")
    np.save(bad, np.array([[object()]]), allow_pickle=True)
    assert "it holds Python objects" in fails("fit", bad, *QUICK, "--embedding", "-")
    bad.write_bytes(b"no array")
    assert "cannot be read as a NumPy file" in fails("fit", bad, *QUICK, "--embedding", "-")
    archive = tmp_path / "good.npz"
    np.savez(archive, X=np.eye(3))
    assert "name it .npz" in fails("fit", archive, *QUICK, "--embedding", "-", "--format", "npy")
    assert "one array; name it .npy" in fails(
        "fit", good, *QUICK, "--embedding", "-", "--format", "npz"
    )
