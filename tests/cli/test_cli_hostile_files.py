"""Hostile files: what blames the wrong cell, is ignored silently, or would fill the memory."""

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from cli_runs import FEATURES, QUICK, fails, flowers, run, write_flowers

from twofold import load
from twofold.cli.tables.delimited import GAPS
from twofold.cli.tables.text_cells import reads_as_number
from twofold.numerics import memory

TOKENS = """
1 +1 -1 1. .5 -.5 1e5 1E+5 1e 1d5 0x10 0x1p3 1_000 1,5 inf -inf Infinity nan -nan 1e400 1e-400
00012 1e5. 1.2.3 - -- +- 5- 1f 1L True None 12345678901234567890 . + e5 $1 1%
١٢ １２ ٣.٥ \u22125 ² ½ Ⅷ
"""
CELLS = [*TOKENS.split(), "", " 1 ", "\t1", "1 2", "- 5", "1\u00a0", "\u20031", "1\0"]


@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_are_what_the_reader_takes_for_numbers(decimal):
    for token in (*CELLS, *(one.replace(".", ",") for one in CELLS)):
        text = f'a;b\n1{decimal}5;x\n"{token}";y\n'
        read = pc.read_csv(
            io.BytesIO(text.encode()),
            parse_options=pc.ParseOptions(delimiter=";"),
            convert_options=pc.ConvertOptions(null_values=GAPS, decimal_point=decimal),
        )
        is_number = str(read.schema.field("a").type) == "double"
        assert reads_as_number(token, decimal) == is_number, token


@pytest.mark.parametrize("cell", ["١٫٥", "٣", "１.５", "1_0", "\u22121", "\u00a01.5", "high"])
def test_the_cell_that_is_no_number_is_blamed(cell, tmp_path):
    frame = flowers(20).astype({"width": object})
    frame.loc[[11, 15], "width"] = cell
    frame.to_csv(tmp_path / "t.csv", index=False)
    error = fails("fit", tmp_path / "t.csv", *QUICK, "--embedding", "-")
    assert "column width has" in error
    assert "in line 13, which is not a number" in error


def test_the_wrong_cell_among_decimal_commas(tmp_path):
    frame = flowers(20)
    text = frame.to_csv(index=False, sep=";", decimal=",").replace(
        str(frame.loc[7, "width"]).replace(".", ","), "1.5"
    )
    (tmp_path / "t.csv").write_text(text)
    fit = ("fit", tmp_path / "t.csv", *QUICK, "--embedding", "-")
    assert "column width has '1.5' in line 9, which is not a number" in fails(*fit, "--decimal=,")
    assert "use --decimal , if that is a decimal comma" in fails(*fit)


@pytest.mark.parametrize("form", ["{} %", "$ {}", "{:,.2f}", "'{}'"])
def test_numbers_with_signs_are_no_names_of_rows(form, tmp_path):
    numbers = 1000.0 + np.arange(30.0)
    texts = [form.format(number) for number in numbers]
    flowers(30).assign(price=texts).to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", *QUICK, "-o", tmp_path / "m.twofold")
    if form == "'{}'":  # any other text that differs in each row
        assert "plant names the rows" in run(*fit).stderr
        return
    assert "numbers are written as 1234.5" in fails(*fit) or "," in form
    run(*fit, "--drop", "price")


def test_dates_of_other_forms_are_left_out_and_told(tmp_path):
    dates = [f"{day}.1.1999" for day in range(1, 31)]
    flowers(30).assign(day=dates).to_csv(tmp_path / "t.csv", index=False)
    told = run("fit", tmp_path / "t.csv", *QUICK, "--embedding", tmp_path / "z.csv").stderr
    assert "left out  day (dates that are not written as 2024-12-31)" in told


def test_spaces_around_marks_of_gaps(tmp_path):
    text = flowers(20).to_csv(index=False).splitlines()
    for line, mark in ((3, " NA "), (5, " ? "), (6, "  ")):
        cells = text[line].split(",")
        text[line] = ",".join([cells[0], mark, *cells[2:]])
    (tmp_path / "t.csv").write_text("\n".join(text))
    told = run("fit", tmp_path / "t.csv", *QUICK, "-o", tmp_path / "m.twofold").stderr
    assert "3 gaps" in told
    assert load(tmp_path / "m.twofold").kinds_["width"] == "number"


X = flowers()[FEATURES].to_numpy()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (np.array(["a", "b"]), "array feature_names has shape (2,) and type <U1"),
        (np.array(list("abcd")), "names of the 3 columns as text"),
        (np.arange(3), "has shape (3,) and type int64"),
        (np.array([["a", "b", "c"]]), "has shape (1, 3)"),
        (np.array("abc"), "has shape ()"),
        (np.array(list("abc"), dtype=object), "array feature_names: it holds Python objects"),
        (np.array(["a", "\ud800", "c"]), "array feature_names: it has text that is not Unicode"),
        (np.array([b"a", b"\xff", b"c"]), "array feature_names: 'utf-8' codec can't decode"),
    ],
)
def test_names_of_arrays_that_are_none(names, said, tmp_path):
    np.savez(tmp_path / "t.npz", X=X, feature_names=names)
    assert said in fails("fit", tmp_path / "t.npz", *QUICK, "--embedding", "-")


def test_names_of_arrays_as_bytes(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, feature_names=np.array(["ü".encode(), b"b", b"c"]))
    run("fit", tmp_path / "t.npz", *QUICK, "-o", tmp_path / "m.twofold")
    assert load(tmp_path / "m.twofold").feature_names_in_.tolist() == ["ü", "b", "c"]


def test_arrays_that_are_not_used_are_named(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(3), z=np.arange(40) * 1j)
    told = run("fit", tmp_path / "t.npz", *QUICK, "--embedding", tmp_path / "z.csv").stderr
    assert "left out, not one value per row: y\n" in told
    assert "warning: " in told
    assert "array z is not read: its type is complex128" in told


@pytest.mark.parametrize("dtype", [">f8", "g", "f2", ">i2"])
def test_arrays_of_other_number_types(dtype, tmp_path, model):
    np.save(tmp_path / "t.npy", X.astype(dtype))
    run("impute", model, tmp_path / "t.npy", "-o", tmp_path / "out.parquet")
    back = pd.read_parquet(tmp_path / "out.parquet").to_numpy()
    np.testing.assert_array_equal(back, X.astype(dtype).astype(back.dtype))


def claiming(shape):
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + bytes(64)


@pytest.mark.parametrize("shape", [(10**13, 3), (10**30, 3), (True, 3), (-1, 3)])
def test_sizes_that_arrays_state(shape, tmp_path):
    (tmp_path / "t.npy").write_bytes(claiming(shape))
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", claiming(shape))
    for name in ("t.npy", "t.npz"):
        error = fails("fit", tmp_path / name, *QUICK, "--embedding", "-")
        assert f"{name} cannot be read as a NumPy file" in error
        assert "it states" in error or "its shape is" in error


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1"><v>1</v></c></row><row r="{0}"><c r="{1}{0}"><v>1</v></c></row>'
    "</sheetData></worksheet>"
)


def workbook_with(folder, row, column):
    """Write a workbook with two cells."""
    pd.DataFrame({"a": [1]}).to_excel(folder / "plain.xlsx", index=False)
    with (
        zipfile.ZipFile(folder / "plain.xlsx") as old,
        zipfile.ZipFile(folder / "t.xlsx", "w") as new,
    ):
        for name in old.namelist():
            sheet = SHEET.format(row, column).encode()
            new.writestr(name, sheet if "sheet1" in name else old.read(name))
    return folder / "t.xlsx"


def zeros_in(folder, suffix):
    """Write a small file with many zeros, and return its path."""
    path = folder / f"t.{suffix}"
    if suffix == "npz":
        np.savez_compressed(path, X=np.zeros((1_000_000, 2)))
    elif suffix == "parquet":
        pq.write_table(pa.table({"a": np.zeros(2_000_000)}), path)
    elif suffix == "csv.gz":
        path.write_bytes(gzip.compress(bytes(16_000_000), 1))
    else:
        path = workbook_with(folder, 1_000_000, "XFD")
    assert path.stat().st_size < 500_000
    return path


@pytest.mark.parametrize("suffix", ["npz", "parquet", "csv.gz", "xlsx"])
def test_files_that_would_fill_the_memory(suffix, tmp_path, monkeypatch):
    path = zeros_in(tmp_path, suffix)
    monkeypatch.setattr(memory, "available_memory", lambda: 8e6)
    error = fails("fit", path, *QUICK, "--embedding", "-")
    assert f"{path} needs about" in error
    assert "Take fewer rows or columns." in error


def test_standard_input_without_end(model, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 8e6)
    assert "standard input needs about" in fails("transform", model, "-", stdin=b"1\n" * 5_000_000)


@pytest.mark.parametrize(("row", "column"), [(10**12, "B"), (3, "?")])
def test_cells_outside_of_a_sheet(row, column, tmp_path):
    error = fails("fit", workbook_with(tmp_path, row, column), *QUICK, "--embedding", "-")
    assert "cannot be read as an .xlsx workbook" in error


def test_workbooks_without_names(tmp_path):
    frame = flowers()[FEATURES]
    data = tmp_path / "t.xlsx"
    frame.to_excel(data, index=False, header=False)
    fit = ("fit", data, *QUICK, "--embedding", tmp_path / "z.csv", "-o", tmp_path / "m.twofold")
    assert "the first line is numbers and read as data" in run(*fit).stderr
    assert load(tmp_path / "m.twofold").embedding_.shape == (40, 2)
    run(*fit, "--header")
    assert load(tmp_path / "m.twofold").embedding_.shape == (39, 2)
    frame.set_axis(["a", "b", "a"], axis=1).to_excel(data, index=False)
    assert "more than one column with the name a" in fails(*fit)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_devices_are_not_read(device, model, tmp_path):
    (tmp_path / "t.csv").symlink_to(device)
    assert "is a device" in fails("transform", model, tmp_path / "t.csv")


def test_links_to_nothing(model, tmp_path):
    (tmp_path / "t.csv").symlink_to("t.csv")
    assert "is a link to a file that does not exist" in fails(
        "transform", model, tmp_path / "t.csv"
    )


def test_text_that_is_none(model, tmp_path):
    (tmp_path / "t.csv").write_bytes(flowers().to_csv(index=False).encode("utf-16-le"))
    assert "it has zero bytes" in fails("transform", model, tmp_path / "t.csv")
    column = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"\xff\xfe")
    )
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": column}), tmp_path / "t.parquet")
    error = fails("fit", tmp_path / "t.parquet", *QUICK, "--embedding", "-")
    assert "t.parquet cannot be read as Parquet" in error


def test_cells_longer_than_the_limit_of_csv(tmp_path):
    frame = flowers(20)
    frame.loc[5, "plant"] = "x" * 200_000 + '"'
    frame.columns = ["p" * 150_000, *frame.columns[1:]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", *QUICK, "--embedding", tmp_path / "z.csv")


def test_signs_of_the_shell_in_remedies(tmp_path):
    data = write_flowers(tmp_path)
    frame = pd.read_csv(data)
    frame["it's a date"] = "1.1.1999"
    pq.write_table(pa.table({"a": np.arange(9.0), "my lists": [[1]] * 9}), tmp_path / "t.parquet")
    error = fails("fit", tmp_path / "t.parquet", *QUICK, "--embedding", "-")
    assert error.endswith("leave it out with --drop 'my lists'.")
