"""Hostile tables in binary formats, and paths that are not files."""

import datetime as dt
import decimal
import gzip
import io
import os
import socket
import struct
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl import Workbook
from pyarrow import feather

from benchmarks.fuzz._text_tables import MARKUP, damaged

GIANT = 10**13
"""Rows that a header claims."""

BOMB = 4 * 10**8
"""Bytes of a file that is small when packed."""

SURROGATE = "\ud800"


def _table(rng, n_rows=30):
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    return frame.assign(kind=np.array(["x", "y"])[rng.integers(2, size=n_rows)])


def _X(rng):
    return rng.normal(size=(30, 3))


def _npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def _npz(compressed=False, **arrays):
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


def _npy_header(text, version=1):
    head = text.encode("latin-1")
    size = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + size + head + b"\0" * 64


def _claim(shape, descr="'<f8'"):
    return _npy_header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n")


def _archive(entries, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


def _bomb_of_zeros(n_bytes=BOMB):
    """Return an archive whose only array has so many bytes, all zero."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        head = _claim((n_bytes // 80, 10))[:-64]
        with archive.open("X.npy", "w", force_zip64=True) as entry:
            entry.write(head)
            for _ in range(n_bytes // 10**7):
                entry.write(bytes(10**7))
    return stream.getvalue()


def _names_beyond_unicode():
    """Return an array of text with a code point that Unicode does not have."""
    return _npy(np.array(["a", "b", "c"])).replace("a".encode("utf-32-le"), b"\xff\xff\xff\x7f")


ARRAYS = {
    "npy: one dimension": lambda rng: _npy(np.zeros(30)),
    "npy: no dimension": lambda rng: _npy(np.array(3.0)),
    "npy: three dimensions": lambda rng: _npy(np.zeros((3, 4, 5))),
    "npy: objects": lambda rng: _npy(np.array([["a", 1]], dtype=object), allow_pickle=True),
    "npy: complex": lambda rng: _npy(_X(rng) + 1j),
    "npy: text": lambda rng: _npy(np.array([["1", "2"], ["3", "4"]])),
    "npy: records": lambda rng: _npy(np.zeros((9, 2), dtype=[("a", "f8"), ("b", "i4")])),
    "npy: dates": lambda rng: _npy(np.zeros((9, 2), dtype="M8[D]")),
    "npy: truths": lambda rng: _npy(_X(rng) > 0),
    "npy: half": lambda rng: _npy(_X(rng).astype("f2")),
    "npy: single": lambda rng: _npy(_X(rng).astype("f4")),
    "npy: long double": lambda rng: _npy(_X(rng).astype("g")),
    "npy: big endian": lambda rng: _npy(_X(rng).astype(">f8")),
    "npy: small integers": lambda rng: _npy(rng.integers(-9, 9, size=(30, 3)).astype("i1")),
    "npy: large integers": lambda rng: _npy(
        rng.integers(2**63, 2**64, size=(30, 3), dtype=np.uint64)
    ),
    "npy: Fortran": lambda rng: _npy(np.asfortranarray(_X(rng))),
    "npy: NaN": lambda rng: _npy(np.full((9, 3), np.nan)),
    "npy: infinity": lambda rng: _npy(np.where(_X(rng) > 1, np.inf, 1.0)),
    "npy: huge": lambda rng: _npy(_X(rng) * 1e307),
    "npy: subnormal": lambda rng: _npy(_X(rng) * 1e-310),
    "npy: no rows": lambda rng: _npy(np.zeros((0, 3))),
    "npy: no columns": lambda rng: _npy(np.zeros((3, 0))),
    "npy: one cell": lambda rng: _npy(np.zeros((1, 1))),
    "npy: giant claim": lambda rng: _claim((GIANT, 3)),
    "npy: claim beyond integers": lambda rng: _claim((10**30, 3)),
    "npy: negative claim": lambda rng: _claim((-1, 3)),
    "npy: claim of truths": lambda rng: _claim((True, 3)),
    "npy: claim of width zero": lambda rng: _claim((10**9, 3), "'|V0'"),
    "npy: claim of wide text": lambda rng: _claim((1, 1), "'<U999999999'"),
    "npy: header is no mapping": lambda rng: _npy_header("[1, 2]\n"),
    "npy: header is a program": lambda rng: _npy_header("__import__('os').system('false')\n"),
    "npy: deep header": lambda rng: _npy_header("(" * 5_000 + "\n"),
    "npy: header beyond the file": lambda rng: b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31),
    "npy: version 9": lambda rng: b"\x93NUMPY\x09\x00" + bytes(100),
    "npy: cut": lambda rng: _npy(_X(rng))[:300],
    "npy: empty": lambda rng: b"",
    "npy: CSV": lambda rng: b"a,b\n1,2\n",
    "npz: too few names": lambda rng: _npz(X=_X(rng), feature_names=np.array(["a", "b"])),
    "npz: too many names": lambda rng: _npz(X=_X(rng), feature_names=np.array(list("abcd"))),
    "npz: names are numbers": lambda rng: _npz(X=_X(rng), feature_names=np.arange(3)),
    "npz: names are pickled": lambda rng: _npz(
        X=_X(rng), feature_names=np.array(list("abc"), dtype=object)
    ),
    "npz: names are bytes": lambda rng: _npz(X=_X(rng), feature_names=np.array([b"a", b"b", b"c"])),
    "npz: names are bad bytes": lambda rng: _npz(
        X=_X(rng), feature_names=np.array([b"\xff", b"b", b"c"])
    ),
    "npz: names in two dimensions": lambda rng: _npz(
        X=_X(rng), feature_names=np.array([["a", "b", "c"]])
    ),
    "npz: one name": lambda rng: _npz(X=_X(rng), feature_names=np.array("abc")),
    "npz: names twice": lambda rng: _npz(X=_X(rng), feature_names=np.array(["a", "a", "b"])),
    "npz: empty names": lambda rng: _npz(X=_X(rng), feature_names=np.array(["", "", "b"])),
    "npz: names with surrogates": lambda rng: _npz(
        X=_X(rng), feature_names=np.array([SURROGATE, "b\udfff", "c"])
    ),
    "npz: names beyond Unicode": lambda rng: _archive(
        [("X.npy", _npy(_X(rng))), ("feature_names.npy", _names_beyond_unicode())]
    ),
    "npz: names with zeros": lambda rng: _npz(
        X=_X(rng), feature_names=np.array(["a\0b", MARKUP, "\x1b[31m"])
    ),
    "npz: labels with surrogates": lambda rng: _npz(X=_X(rng), y=np.array([SURROGATE, "b"] * 15)),
    "npz: labels too short": lambda rng: _npz(X=_X(rng), y=np.arange(3)),
    "npz: labels pickled": lambda rng: _npz(X=_X(rng), y=np.array(["a"] * 30, dtype=object)),
    "npz: labels of dates": lambda rng: _npz(X=_X(rng), y=np.arange(30).astype("M8[D]")),
    "npz: complex labels": lambda rng: _npz(X=_X(rng), y=np.arange(30) * 1j),
    "npz: labels of bytes": lambda rng: _npz(X=_X(rng), y=np.array([b"\xffa", b"b"] * 15)),
    "npz: labels of records": lambda rng: _npz(X=_X(rng), y=np.zeros(30, dtype=[("a", "f8")])),
    "npz: labels missing": lambda rng: _npz(X=_X(rng), y=np.full(30, np.nan)),
    "npz: one class": lambda rng: _npz(X=_X(rng), y=np.zeros(30)),
    "npz: several tables": lambda rng: _npz(A=_X(rng), B=_X(rng)),
    "npz: other names": lambda rng: _archive([("../../X.npy", _npy(_X(rng)))]),
    "npz: an entry twice": lambda rng: _archive([("X.npy", _npy(_X(rng)))] * 2),
    "npz: not arrays": lambda rng: _archive([("X.npy", b"hello"), ("y.npy", b"")]),
    "npz: X is text": lambda rng: _archive([("X", b"hello")]),
    "npz: no entries": lambda rng: _archive([]),
    "npz: giant claim": lambda rng: _archive([("X.npy", _claim((GIANT, 3)))]),
    "npz: large claim beside the table": lambda rng: _archive(
        [("X.npy", _npy(_X(rng))), ("other.npy", _claim((4 * 10**8, 2)))]
    ),
    "npz: bomb": lambda rng: _bomb_of_zeros(),
    "npz: cut": lambda rng: _npz(X=_X(rng))[:400],
    "npz: damaged": lambda rng: damaged(rng, _npz(compressed=True, X=_X(rng), y=np.arange(30))),
    "npz: one array": lambda rng: _npy(_X(rng)),
}


def _parquet(frame=None, **columns):
    stream = io.BytesIO()
    table = pa.table(columns) if columns else pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, stream)
    return stream.getvalue()


def _feather(**columns):
    stream = io.BytesIO()
    feather.write_feather(pa.table(columns), stream, compression="uncompressed")
    return stream.getvalue()


def _bad_text(n_rows=30):
    """Return a column of text that is not UTF-8."""
    offsets = np.arange(0, 2 * n_rows + 1, 2, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfe" * n_rows)]
    return pa.StringArray.from_buffers(n_rows, buffers[1], buffers[2])


def _bad_dictionary(n_rows=30):
    """Return a column of categories whose codes point behind its levels."""
    codes = pa.array(np.full(n_rows, 10**6, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)


def _runs_of_zeros(n_rows=BOMB // 8):
    """Return a small Parquet file of many rows, written in parts."""
    stream, part = io.BytesIO(), pa.table({"a": pa.array(np.zeros(10**7))})
    with pq.ParquetWriter(stream, part.schema, compression="zstd") as writer:
        for _ in range(n_rows // 10**7):
            writer.write_table(part)
    return stream.getvalue()


def _stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


_numbers = np.arange(30.0)
_TYPES = {
    "lists": pa.array([[1.0, 2.0]] * 30),
    "structures": pa.array([{"x": 1}] * 30),
    "maps": pa.array([[("k", 1)]] * 30, pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"\xff\x00"] * 30),
    "decimals": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("2.25")] * 10),
    "large decimals": pa.array([decimal.Decimal(10) ** 37] * 30),
    "dates": pa.array([dt.date(2020, 1, 1), None, dt.date(9999, 1, 1)] * 10),
    "times": pa.array([dt.time(1, 2)] * 30),
    "times with zones": pa.array([0] * 30, pa.timestamp("ns", "Asia/Kolkata")),
    "far times": pa.array([2**45] * 30, pa.timestamp("s")),
    "durations": pa.array([1, None, 2] * 10, pa.duration("s")),
    "nothing": pa.nulls(30),
    "half": pa.array(_numbers.astype("f2")),
    "unsigned": pa.array([2**64 - 1, 0, 5] * 10, pa.uint64()),
    "categories": pa.array(["a", "b", None] * 10).dictionary_encode(),
    "categories of numbers": pa.array([1.5, 2.5, 1.5] * 10).dictionary_encode(),
    "bad text": _bad_text(),
    "truths with gaps": pa.array([True, None, False] * 10),
}

FRAMES = {
    **{
        f"parquet: {name}": lambda rng, column=column: _parquet(
            a=_numbers, b=np.sin(_numbers), c=column
        )
        for name, column in _TYPES.items()
    },
    **{
        f"feather: {name}": lambda rng, column=column: _feather(a=_numbers, c=column)
        for name, column in _TYPES.items()
        if name != "half"
    },
    "feather: categories behind the levels": lambda rng: _feather(a=_numbers, c=_bad_dictionary()),
    "feather: a stream": lambda rng: _stream(pa.table({"a": _numbers, "b": np.cos(_numbers)})),
    "feather: cut": lambda rng: _feather(a=_numbers)[:-100],
    "feather: damaged": lambda rng: damaged(rng, _feather(a=_numbers, b=np.sin(_numbers))),
    "feather: empty": lambda rng: b"",
    "feather: CSV": lambda rng: b"a,b\n1,2\n",
    "parquet: cut": lambda rng: _parquet(_table(rng))[:-100],
    "parquet: damaged": lambda rng: damaged(rng, _parquet(_table(rng))),
    "parquet: no rows": lambda rng: _parquet(_table(rng, 0)),
    "parquet: no columns": lambda rng: _parquet(pd.DataFrame()),
    "parquet: names twice": lambda rng: _parquet_of(
        pa.Table.from_arrays([pa.array(_numbers)] * 2, names=["a", "a"])
    ),
    "parquet: odd names": lambda rng: _parquet(
        **{MARKUP: _numbers, "": np.sin(_numbers), "\x1b[31m": np.cos(_numbers)}
    ),
    "parquet: an index": lambda rng: _parquet_of(
        pa.Table.from_pandas(_table(rng).set_index(["kind", "a"]))
    ),
    "parquet: names of two levels": lambda rng: _parquet_of(
        pa.Table.from_pandas(
            pd.DataFrame(_X(rng), columns=pd.MultiIndex.from_product([["a"], ["x", "y", "z"]]))
        )
    ),
    "parquet: a false index": lambda rng: _parquet_of(
        pa.table({"a": _numbers}).replace_schema_metadata({b"pandas": b'{"index_columns": 7}'})
    ),
    "parquet: bomb": lambda rng: _runs_of_zeros(),
    "parquet: CSV": lambda rng: b"a,b\n1,2\n",
}


def _parquet_of(table):
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def _workbook(rows, title="Sheet"):
    book = Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return _saved(book)


def _saved(book):
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _with_sheet(xml):
    """Return a workbook whose sheet is this text."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_workbook([["a", "b"], [1, 2]]))) as old:
        entries = [(one.filename, old.read(one)) for one in old.infolist()]
    entries = [
        (name, xml if name == "xl/worksheets/sheet1.xml" else text) for name, text in entries
    ]
    content.write(_archive(entries))
    return content.getvalue()


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</worksheet>'
)


def _cells_at(*places):
    rows = "".join(
        f'<row r="{row}"><c r="{column}{row}"><v>1</v></c></row>' for column, row in places
    )
    return SHEET.format(f"<sheetData>{rows}</sheetData>")


def _laughs():
    entities = "".join(
        f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' if k else '<!ENTITY l0 "lol">' for k in range(10)
    )
    return f'<?xml version="1.0"?><!DOCTYPE lolz [{entities}]>' + SHEET.format("&l9;")


def _merged(rng):
    book = Workbook()
    for row in _table(rng).itertuples(index=False):
        book.active.append(list(row))
    book.active.merge_cells("A1:C1")
    return _saved(book)


def _chart_alone():
    book = Workbook()
    book.create_chartsheet("chart")
    book.remove(book["Sheet"])
    return _saved(book)


def _rows(*cells):
    return [["a", "b", "c"], *[[k * 0.37 % 1, k, cells[k % len(cells)]] for k in range(20)]]


WORKBOOKS = {
    "xlsx: numbers": lambda rng: _workbook(_rows(1, 2, 3.5)),
    "xlsx: numbers as text": lambda rng: _workbook(_rows("1", "2", "3")),
    "xlsx: some numbers as text": lambda rng: _workbook(_rows(1, 2, "3", 4, 5)),
    "xlsx: dates and text": lambda rng: _workbook(_rows(dt.date(2020, 1, 1), "soon", None)),
    "xlsx: times": lambda rng: _workbook(_rows(dt.time(1, 2), dt.time(3, 4))),
    "xlsx: durations": lambda rng: _workbook(_rows(dt.timedelta(1), 5)),
    "xlsx: truths": lambda rng: _workbook(_rows(True, False, None)),
    "xlsx: formulas": lambda rng: _workbook(_rows("=1+1", "=A1", "=1/0")),
    "xlsx: errors": lambda rng: _workbook(_rows("#DIV/0!", "#N/A", 3)),
    "xlsx: escapes": lambda rng: _workbook(_rows("_xD800_", "_x001B_[31m", "_x0000_")),
    "xlsx: names with escapes": lambda rng: _workbook(
        [["_xD800_", "_x001B_[31m", None], *_rows(1, 2)[1:]]
    ),
    "xlsx: names of numbers": lambda rng: _workbook([[1, 2.5, True], *_rows(1, 2)[1:]]),
    "xlsx: names of dates": lambda rng: _workbook([[dt.date(2020, 1, 1)], *_rows(1)[1:]]),
    "xlsx: names twice": lambda rng: _workbook([["a", "a", "a.1"], *_rows(1, 2)[1:]]),
    "xlsx: no names": lambda rng: _workbook(_rows(1, 2)[1:]),
    "xlsx: a title above": lambda rng: _workbook([["My table"], [], *_rows(1, 2)]),
    "xlsx: empty": lambda rng: _workbook([]),
    "xlsx: header alone": lambda rng: _workbook([["a", "b"]]),
    "xlsx: merged cells": _merged,
    "xlsx: a chart alone": lambda rng: _chart_alone(),
    "xlsx: odd sheet name": lambda rng: _workbook(_rows(1, 2), title="\u202ered"),
    "xlsx: cells far apart": lambda rng: _with_sheet(_cells_at(("A", 1), ("XFD", 1_048_576))),
    "xlsx: a cell far below": lambda rng: _with_sheet(_cells_at(("A", 1), ("A", 1_048_576))),
    "xlsx: a cell outside": lambda rng: _with_sheet(_cells_at(("A", 1), ("B", 10**12))),
    "xlsx: a wrong cell": lambda rng: _with_sheet(_cells_at(("A", 1), ("?", -3))),
    "xlsx: no data": lambda rng: _with_sheet(SHEET.format("")),
    "xlsx: not XML": lambda rng: _with_sheet("hello"),
    "xlsx: laughs": lambda rng: _with_sheet(_laughs()),
    "xlsx: bomb": lambda rng: _with_sheet(SHEET.format(" " * BOMB)),
    "xlsx: another archive": lambda rng: _archive([("hello.txt", b"hello")]),
    "xlsx: cut": lambda rng: _workbook(_rows(1, 2))[:3_000],
    "xlsx: damaged": lambda rng: damaged(rng, _workbook(_rows(1, 2))),
    "xlsx: old": lambda rng: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3_000),
    "xlsx: CSV": lambda rng: b"a,b\n1,2\n",
}


def _zipped_zeros(n_bytes=BOMB):
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1) as packed:
        packed.write(b"a,b\n1,2\n")
        for _ in range(n_bytes // 10**7):
            packed.write(bytes(10**7))
    return stream.getvalue()


ARCHIVES = {
    "csv.gz: good": lambda rng: gzip.compress(_table(rng).to_csv(index=False).encode()),
    "csv.gz: cut": lambda rng: gzip.compress(_table(rng).to_csv(index=False).encode())[:-100],
    "csv.gz: not packed": lambda rng: _table(rng).to_csv(index=False).encode(),
    "csv.gz: empty": lambda rng: b"",
    "csv.gz: more behind": lambda rng: gzip.compress(b"a,b\n1,2\n3,5\n") + b"rest",
    "csv.gz: damaged": lambda rng: damaged(rng, gzip.compress(_table(rng).to_csv().encode())),
    "csv.gz: bomb": lambda rng: _zipped_zeros(),
}

BYTES = {**ARRAYS, **FRAMES, **WORKBOOKS, **ARCHIVES}
"""Contents by "suffix: name"; functions of a generator that return bytes."""


def _pipe(path, content):
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(content), daemon=True).start()


def _socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # such names have at most 108 letters
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


def _looped(path):
    path.symlink_to(path.name)


PLACES = {
    "a folder": lambda path: path.mkdir(),
    "nothing": lambda path: None,
    "a link to itself": _looped,
    "a link to nothing": lambda path: path.symlink_to("nowhere.csv"),
    "a link to a device": lambda path: path.symlink_to("/dev/null"),
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to memory": lambda path: path.symlink_to("/proc/self/mem"),
    "a link to a file of the system": lambda path: path.symlink_to("/proc/version"),
    "a pipe": lambda path: _pipe(path, b"a,b\n1,2\n3,5\n4,4\n7,1\n5,5\n"),
    "a pipe without text": lambda path: _pipe(path, b""),
    "a socket": _socket,
    "a file below a file": lambda path: path.parent.write_text("x"),
}
"""What a path may lead to instead of a regular file: functions that make it."""

FILE_NAMES = (
    "plain.csv",
    "-dash.csv",
    "--drop.csv",
    "with space.csv",
    "with\nline.csv",
    "\x1b[31mred.csv",
    "\u202egnp.csv",
    "[red]x[bold]:smile:.csv",
    "<script>alert(1)<!--.csv",
    "'quote\".csv",
    "=cmd.csv",
    "n" * 240 + ".csv",
    "undecodable\udcff.csv",
    "שלום.csv",
    "CSV.CSV",
    ".csv",
)
"""Odd names of good files."""
