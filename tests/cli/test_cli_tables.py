"""Tables of the command line: formats, roles of columns, and invalid files."""

import gzip
import io
import json
import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_runs import FEATURES, QUICK, ROLES, fails, files_in, flowers, run, write_flowers

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


@pytest.mark.parametrize("kind", ["tsv", "parquet", "npz"])
def test_what_was_written_is_read_again(tmp_path, kind):
    data = write_flowers(tmp_path)
    scaled = tmp_path / f"scaled.{kind}"
    run("standardize", data, *ROLES, "-o", scaled)
    again = tmp_path / "again.csv"
    roles = ("--label", "y" if kind == "npz" else "kind", "--id", "plant")
    run("standardize", scaled, "--by", data, "--undo", *roles, "-o", again)
    back = pd.read_csv(again)
    np.testing.assert_allclose(back[FEATURES], flowers()[FEATURES], atol=1e-12)
    assert list(back.columns)[:4] == ["plant", *FEATURES]
    assert list(back["plant"]) == list(flowers()["plant"])


def test_pipes(model):
    frame = flowers(5)
    text = frame.to_csv(index=False)
    result = run("transform", model, "-", *ROLES, stdin=text)
    assert result.stderr == ""
    found = pd.read_csv(io.StringIO(result.stdout))
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
    run("standardize", tmp_path / "a.npy", "-o", tmp_path / "b.csv")
    run("standardize", tmp_path / "a.npy", "-o", tmp_path / "b.npy")
    text = pd.read_csv(tmp_path / "b.csv").to_numpy()
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


# Columns by name.


def test_columns_in_another_order(model, tmp_path):
    frame = flowers()
    data = tmp_path / "turned.csv"
    frame[frame.columns[::-1]].to_csv(data, index=False)
    turned = pd.read_csv(io.StringIO(run("transform", model, data, *ROLES).stdout))
    np.testing.assert_array_equal(turned.iloc[:, 1:3], load(model).transform(frame[FEATURES]))


def test_columns_that_the_model_lacks(model, tmp_path):
    frame = flowers()
    frame["height2"] = frame["height"] ** 2
    data = tmp_path / "more.csv"
    frame.to_csv(data, index=False)
    error = fails("transform", model, data)
    assert error == (
        f"{data} has columns that the model does not know: height2; leave them out with "
        "--drop height2 or --extra-columns drop"
    )
    expected = run("transform", model, data, "--drop", "height2").stdout
    result = run("transform", model, data, "--extra-columns", "drop")
    assert result.stdout == expected
    assert "does not know them: plant, kind, height2" in result.stderr


def test_columns_that_the_data_lack(model, tmp_path):
    data = tmp_path / "less.csv"
    flowers().drop(columns=["height", "leaf length"]).to_csv(data, index=False)
    error = fails("transform", model, data)
    assert "lacks 2 of the 3 columns that the model needs: height, leaf length" in error
    data = write_flowers(tmp_path)
    error = fails("transform", model, data, "--drop", "height")
    assert f"the model needs the column height of {data}, which --drop removes" in error


def test_a_feature_can_be_the_label_of_other_commands(model, tmp_path):
    data = write_flowers(tmp_path)
    found = pd.read_csv(io.StringIO(run("transform", model, data, "--label", "height").stdout))
    assert list(found.columns) == ["twoway0", "twoway1", "height"]
    np.testing.assert_array_equal(found["height"], flowers()["height"])
    again = run("reconstruct", model, data, "--label", "height").stdout
    assert again.startswith("width,height,leaf length,height_\n")


def test_a_needed_column_of_text(model, tmp_path):
    frame = flowers().astype({"height": object})
    frame.loc[7, "height"] = "tall"
    data = tmp_path / "text.csv"
    frame.to_csv(data, index=False)
    assert "column height has 'tall' in line 9, which is no number" in fails(
        "transform", model, data
    )


def test_tables_without_names(model, tmp_path):
    values = flowers()[FEATURES].to_numpy()
    np.save(tmp_path / "a.npy", values)
    result = run("transform", model, tmp_path / "a.npy")
    assert "has no column names: columns are matched by their order" in result.stderr
    np.save(tmp_path / "b.npy", values[:, :2])
    assert "has 2 columns of numbers, the model needs 3" in fails(
        "transform", model, tmp_path / "b.npy"
    )
    nameless = tmp_path / "nameless.twofold"
    run("fit", tmp_path / "a.npy", *QUICK, "-o", nameless)
    assert not hasattr(load(nameless), "feature_names_in_")
    result = run("transform", nameless, write_flowers(tmp_path))
    assert "the model has no column names" in result.stderr
    assert run("sample", nameless).stdout.startswith("x0,x1,x2\n")


# What a CSV may be like.


def test_a_first_line_of_numbers_is_data(tmp_path):
    data = tmp_path / "numbers.csv"
    flowers()[FEATURES].to_csv(data, index=False, header=False)
    document = ("--json", "-o", tmp_path / "m.twofold")
    result = run("fit", data, *QUICK, *document)
    assert json.loads(result.stdout)["rows"] == 40
    assert (
        "the first line is numbers and read as data; columns are called x0 to x2" in result.stderr
    )
    assert json.loads(run("fit", data, *QUICK, "--header", *document).stdout)["rows"] == 39
    result = run("fit", data, *QUICK, "--no-header", "--label", "x2", *document)
    assert json.loads(result.stdout)["columns"] == 2
    assert "first line" not in result.stderr


def test_a_first_line_of_both_is_asked_about(tmp_path):
    data = tmp_path / "iris.data.csv"
    data.write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n")
    error = fails("fit", data, *QUICK, "-o", tmp_path / "m.twofold")
    assert "both names ('setosa') and numbers ('5.1'); use --header" in error
    run("fit", data, *QUICK, "-q", 1, "--no-header", "--label", "x2", "-o", tmp_path / "m.twofold")


def test_separators(model, tmp_path):
    frame = flowers()
    expected = run("transform", model, write_flowers(tmp_path), *ROLES).stdout
    for number, (separator, word) in enumerate(
        {";": "semicolons", "|": "bars", "\t": "tabs"}.items()
    ):
        data = tmp_path / f"s{number}.csv"
        frame.to_csv(data, index=False, sep=separator)
        result = run("transform", model, data, *ROLES)
        assert result.stdout == expected
        assert f"cells are separated by {word}, not commas" in result.stderr
        given = "tab" if separator == "\t" else separator
        assert run("transform", model, data, *ROLES, "--delimiter", given).stderr == ""
    data = tmp_path / "comma.csv"
    frame.to_csv(data, index=False, sep=";", decimal=",")
    assert "use --decimal ," in fails("transform", model, data)
    assert run("transform", model, data, *ROLES, "--decimal", ",").stdout == expected
    assert "must be one character" in fails("transform", model, data, "--delimiter", "::", code=2)
    frame[FEATURES].to_csv(data, index=False, sep=" ")
    assert "use --delimiter ' '" in fails("standardize", data)
    run("standardize", data, "--delimiter", " ", "-o", tmp_path / "spaces.npy")
    assert np.load(tmp_path / "spaces.npy").shape == (40, 3)


def test_numbers_of_python_alone(tmp_path):
    data = tmp_path / "a.csv"
    data.write_text("a,b\n1,2\n3,1_000\n4,5\n6,7\n")
    assert "column b has '1_000' in line 3, which is no number" in fails("standardize", data)


def test_bytes_before_and_between(model, tmp_path):
    text = flowers().to_csv(index=False)
    expected = run("transform", model, "-", *ROLES, stdin=text).stdout
    lines = text.splitlines()
    for changed in (
        "\ufeff" + text,
        text.replace("\n", "\r\n"),
        "\n\n" + "\n\n".join(lines) + "\n\n\n",
        text.replace(",", " , ", 0).replace("width,height", " width ,height"),
        text.rstrip("\n"),
    ):
        assert run("transform", model, "-", *ROLES, stdin=changed.encode()).stdout == expected


def test_long_lines_and_breaks_in_cells(model, tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.cli.tables.delimited.SMALLEST_BLOCK", 200)
    monkeypatch.setattr("twofold.cli.tables.delimited.LINES_IN_BLOCK", 1)
    frame = flowers()
    frame.loc[[3, 30], "kind"] = ["long " * 1000, "two\nlines"]
    data = tmp_path / "long.csv"
    frame.to_csv(data, index=False)
    run("transform", model, data, *ROLES, "-o", tmp_path / "out.parquet")
    assert list(pd.read_parquet(tmp_path / "out.parquet")["kind"]) == list(frame["kind"])


def test_wide_tables(tmp_path):
    data = tmp_path / "wide.csv"
    values = np.random.default_rng(0).normal(size=(4, 5000))
    pd.DataFrame(values, columns=[f"gene {number}" for number in range(5000)]).to_csv(data)
    run("standardize", data, "--id", "column1", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as stored:
        np.testing.assert_allclose(stored["X"].std(axis=0), 1.0)
        assert stored["feature_names"][-1] == "gene 4999"


def test_columns_without_a_name(tmp_path):
    data = tmp_path / "pandas.csv"
    flowers().to_csv(data)  # with its index, as is usual
    out = ("-o", tmp_path / "m.twofold")
    error = fails("fit", data, *QUICK, *ROLES, *out)
    assert "column 1 has no name in the header" in error
    assert "--drop column1" in error
    run("fit", data, *QUICK, *ROLES, "--drop", "column1", *out)
    assert list(load(tmp_path / "m.twofold").feature_names_in_) == FEATURES


# What parquet and NumPy files may be like.


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
    out = tmp_path / "out.npz"
    assert "column maybe has no value in row 40" in fails("standardize", data, "-o", out)
    result = run("standardize", data, "--missing", "drop", "-o", out)
    assert "the row index is left out" in result.stderr
    assert "1 of 40 rows are left out" in result.stderr
    with np.load(out) as stored:
        assert list(stored["feature_names"]) == list(frame.columns)
        assert stored["X"].shape == (39, 7)


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
    assert list(pd.read_csv(out).columns) == ["name", "twoway0", "twoway1", "y"]
    run("fit", data, *QUICK, "--drop", "y", "--embedding", out)
    assert list(pd.read_csv(out).columns) == ["twoway0", "twoway1"]
    np.savez(data, table=X, mean=X.mean(axis=0))
    assert "array table" in run("fit", data, *QUICK, "--embedding", out).stderr


def test_labels_saved_as_objects(tmp_path):
    data = tmp_path / "objects.npz"
    kinds = flowers()["kind"].to_numpy(dtype=object)
    np.savez(data, X=flowers()[FEATURES].to_numpy(), y=kinds)
    result = run("standardize", data)
    assert "array y holds Python objects and is not read; save it as numbers" in result.stderr
    assert "there are x0, x1, x2" in fails("standardize", data, "--label", "y")
    np.savez(data, X=kinds[:, None])
    assert "Python objects, which are not read" in fails("standardize", data)


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
    assert said in fails("standardize", tmp_path / "bad.npz")


def test_parquet_that_is_none(tmp_path):
    data = tmp_path / "bad.parquet"
    flowers().to_parquet(data)
    for content in (b"", b"no table", data.read_bytes()[:-20]):
        data.write_bytes(content)
        assert "cannot be read as Parquet" in fails("standardize", data)


def test_rows_with_missing_cells(model, tmp_path):
    frame = flowers()
    frame.loc[[2, 5], "height"] = np.nan
    data = tmp_path / "gaps.csv"
    frame.to_csv(data, index=False)
    error = fails("transform", model, data, *ROLES)
    assert "column height has no value in line 4 (and 1 more row)" in error
    found = pd.read_csv(
        io.StringIO(run("transform", model, data, *ROLES, "--missing", "drop").stdout)
    )
    assert list(found["plant"]) == [
        name for row, name in enumerate(frame["plant"]) if row not in (2, 5)
    ]
    frame["height"] = np.nan
    frame.to_csv(data, index=False)
    error = fails("transform", model, data, *ROLES, "--missing", "drop")
    assert "every row has missing cells" in error
    frame["height"] = ["", "NA", "?"] + ["1.5"] * 37
    frame.to_csv(data, index=False)
    assert "column height has '?' in line 4" in fails("transform", model, data, *ROLES)


def test_files_of_numpy_that_are_none(tmp_path):
    good = tmp_path / "good.npy"
    np.save(good, np.eye(9))
    bad = tmp_path / "bad.npy"
    bad.write_bytes(good.read_bytes()[:300])
    assert "cannot be read as a NumPy file" in fails("standardize", bad)
    np.save(bad, np.array([[object()]]), allow_pickle=True)
    assert "Python objects, which are not read" in fails("standardize", bad)
    bad.write_bytes(b"no array")
    assert "cannot be read as a NumPy file" in fails("standardize", bad)
    archive = tmp_path / "good.npz"
    np.savez(archive, X=np.eye(3))
    assert "name it .npz" in fails("standardize", archive, "--format", "npy")
    assert "one array; name it .npy" in fails("standardize", good, "--format", "npz")


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
    assert "it is no regular file" in fails("transform", model, data, "-o", pipe)
    assert "it is no regular file" in fails("fit", data, *QUICK, *ROLES, "-o", "/dev/null")
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
