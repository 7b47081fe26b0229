"""Hostile tables of text: columns, headers and whole files that CSV readers meet in the wild."""

import csv
import io
import json

ESCAPE = "\x1b[31mred\x1b]0;title\x07\x9b2J"
OVERRIDE = "\u202eabc\u2066\u200f"
MARKUP = "[red]bold[/] [link=file:///]"
SCRIPT = "</script><script>alert(1)</script><!--"
LONG = "n" * 10_000
ARABIC, WIDE = (
    str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"),
    str.maketrans("0123456789", "０１２３４５６７８９"),
)


def _decimals(rng, n):
    return [f"{number:.4f}" for number in rng.normal(size=n)]


def _integers(rng, n):
    return [str(number) for number in rng.integers(0, 1000, size=n)]


def _one_odd(odd, usual=_decimals):
    """Return a column of numbers in which some cells are odd."""

    def cells(rng, n):
        found = usual(rng, n)
        for row in rng.integers(n, size=max(1, n // 10)):
            found[row] = odd(found[row]) if callable(odd) else odd
        return found

    return cells


def _each(change, usual=_decimals):
    return lambda rng, n: [change(cell) for cell in usual(rng, n)]


def _of(*choices):
    return lambda rng, n: [choices[k] for k in rng.integers(len(choices), size=n)]


CELLS = {
    "decimals": _decimals,
    "integers": _integers,
    "constant": _of("3.5"),
    "missing": _of(""),
    "marks of gaps": _one_odd("NA"),
    "other marks of gaps": _one_odd("--"),
    "marks of gaps with spaces": _one_odd(" NA "),
    "one word among numbers": _one_odd("high"),
    "mixed types": _of("1", "2.5", "x", "true", "2020-01-01", ""),
    "truths of many spellings": _of("true", "TRUE", "t", "yes", "Y", "1", "on", "false", "no", "0"),
    "truths": _of("true", "false"),
    "words": _of("a", "b", "c"),
    "one word": _of("same"),
    "words with spaces": _of(" a", "a ", "a", "A"),
    "words that look missing": _of("nan", "None", "null", "-inf", "x"),
    "all different": lambda rng, n: [f"key{number}" for number in range(n)],
    "nearly all different": lambda rng, n: [f"key{k}" for k in rng.integers(n, size=n)],
    "row numbers": lambda rng, n: [str(number) for number in range(1, n + 1)],
    "prose": _of("It was a dark night, and so on. " * 40, "Another text.", "A third", "no"),
    "too large": _one_odd("1e400"),
    "too small": _one_odd("-1e400"),
    "underflow": _each(lambda cell: cell + "e-320"),
    "near the largest": _each(lambda cell: cell + "e307"),
    "all scales": lambda rng, n: [f"1e{k}" for k in rng.integers(-300, 300, size=n)],
    "infinity": _one_odd("Infinity"),
    "not a number": _one_odd("-nan"),
    "hexadecimal": _each(lambda cell: hex(int(cell)), _integers),
    "hexadecimal floats": _each(lambda cell: float(cell).hex()),
    "underscores": _each(lambda cell: f"1_{int(cell):03d}", _integers),
    "thousands": _each(lambda cell: f"{1000 + int(cell):,}", _integers),
    "decimal commas": _each(lambda cell: cell.replace(".", ",")),
    "a decimal comma": _one_odd(lambda cell: cell.replace(".", ",")),
    "currency": _each(lambda cell: f"$ {cell}"),
    "percent": _each(lambda cell: f"{cell} %"),
    "units": _each(lambda cell: f"{cell} mm"),
    "Fortran": _each(lambda cell: f"{cell}D+02"),
    "fractions": _each(lambda cell: f"{int(cell)}/7", _integers),
    "complex": _each(lambda cell: f"{cell}+2j"),
    "plus signs": _each(lambda cell: f"+{cell}"),
    "a minus of typographers": _one_odd(lambda cell: "\u2212" + cell.lstrip("-")),
    "Arabic digits": _each(lambda cell: cell.translate(ARABIC)),
    "an Arabic digit": _one_odd(lambda cell: cell.translate(ARABIC)),
    "full-width digits": _each(lambda cell: cell.translate(WIDE)),
    "a full-width digit": _one_odd(lambda cell: cell.translate(WIDE)),
    "spaces that do not break": _one_odd(lambda cell: f"\u00a0{cell}\u00a0"),
    "apostrophes": _each(lambda cell: f"'{cell}"),
    "many digits": _each(lambda cell: "1" * 400 + cell.lstrip("-")),
    "beyond 64 bits": lambda rng, n: [str(2**64 + k) for k in range(n)],
    "beyond 53 bits": lambda rng, n: [str(2**60 + k) for k in range(n)],
    "leading zeros": _each(lambda cell: cell.zfill(8), _integers),
    "dates": lambda rng, n: [f"2020-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in range(n)],
    "dates of Europe": lambda rng, n: [f"{k % 28 + 1}.{k % 12 + 1}.1999" for k in range(n)],
    "dates of America": lambda rng, n: [f"{k % 12 + 1}/{k % 28 + 1}/99" for k in range(n)],
    "dates that are not": _of("2021-02-29", "2020-13-01", "0000-00-00", "2020-01-01"),
    "dates far away": _of("0001-01-01", "9999-12-31", "2020-01-01", "-4712-01-01"),
    "times with zones": _of(
        "2020-01-01T00:00:00Z", "2020-01-01 12:00:00+05:30", "2020-01-01T00:00:00.123456789"
    ),
    "times": _of("12:30:00", "23:59:60", "00:00", "25:00"),
    "durations": _of("3 days", "1:30", "PT5M"),
    "formulas": _of("=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "=1/0"),
    "escapes": _of(ESCAPE, "plain", "\x1b[2J\x1b[H", "\x07\x08"),
    "overrides": _of(OVERRIDE, "\u2028line\u2029", "\ufeffmark", "plain"),
    "markup": _of(MARKUP, "[/]", "[bold", "\\[x]"),
    "scripts": _of(SCRIPT, '"><img src=x onerror=alert(1)>', "&lt;&amp;", "'"),
    "mathematics": _of("$\\frac{1$", "$$", "\\textbf{x}", "x_{2}^"),
    "quotes": _of('"', '""', 'a "b" c', "'", "`"),
    "delimiters": _of("a,b", "a;b", "a\tb", "a|b"),
    "line breaks": _of("a\nb", "a\r\nb", "a\rb", "\n"),
    "zeros": _of("a\0b", "\0", "c"),
    "right to left": _of("שלום", "مرحبا", "abc"),
    "joined": _of("👩‍👩‍👧", "e\u0301" * 50, "🇩🇪", "\u200b"),
    "huge cells": _of("x" * 300_000, "y", "z" * 100_000),
    "numbers of a million digits": _one_odd("7" * 1_000_000),
    "JSON": _of('{"a": [1, 2]}', "[]", "null"),
    "paths": _of("../../etc/passwd", "C:\\Windows", "file:///etc/passwd"),
    "names of Python": _of("__import__('os')", "${HOME}", "{0.__class__}", "%s%n"),
}
"""Columns by name: functions of a generator and the number of rows that return texts."""

NAMES = {
    "twice": ["a", "a"],
    "twice but for case": ["a", "A"],
    "twice but for spaces": ["a", " a "],
    "empty": ["", "b"],
    "all empty": ["", ""],
    "spaces": ["  ", "\u00a0"],
    "long": [LONG, "b"],
    "escapes": [ESCAPE, "b"],
    "overrides": [OVERRIDE, "b"],
    "control characters": ["\x01\x7f\x85", "b"],
    "line breaks": ["a\nError: b", "c\rd"],
    "line separators": ["a\u2028b", "a\u2029b"],
    "markup": [MARKUP, "[/]"],
    "scripts": [SCRIPT, '"><img src=x onerror=alert(1)>'],
    "mathematics": ["$\\frac{1$", "\\textbf{x"],
    "quotes": ['a "b"', "'c'"],
    "formulas": ["=cmd|' /C calc'!A0", "@SUM"],
    "options": ["--drop", "-o"],
    "kinds": ["a=b", "=number"],
    "latents": ["twoway0", "twoway1"],
    "results": ["reconstruction_error", "log_density"],
    "arrays": ["X", "y"],
    "arguments": ["file", "allow_pickle"],
    "JavaScript": ["__proto__", "constructor"],
    "dunders": ["__class__", "feature_names"],
    "numbers": ["1", "2.5"],
    "one number": ["width", "2020"],
    "infinity": ["nan", "inf"],
    "gaps": ["NA", "null"],
    "right to left": ["שם", "اسم"],
    "Arabic digits": ["١", "２"],
    "joined": ["👩‍👩‍👧", "e\u0301\u0301"],
    "zeros": ["a\0b", "c"],
    "paths": ["../a", "/etc/passwd"],
    "ids": ["id", "index"],
    "unnamed": ["Unnamed: 0", "column1"],
    "formats": ["{0}", "%s"],
}
"""Headers by name: the first two names of columns."""


def cells(rng, columns, names=(), n_rows=30):
    """Return a table of text as rows of cells, its header first."""
    made = [CELLS[name](rng, n_rows) for name in columns]
    header = [*names, *(f"c{number}" for number in range(len(names), len(made)))]
    return [header[: len(made)], *map(list, zip(*made, strict=True))]


def as_text(rows, delimiter=",", end="\n", quoting=csv.QUOTE_MINIMAL):
    """Return rows as CSV."""
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return stream.getvalue()


def _usual(rng, **options):
    return as_text(cells(rng, ["decimals", "integers", "decimals", "words"]), **options)


def _lines(rng):
    return _usual(rng).splitlines()


def _with_line(rng, number, change):
    lines = _lines(rng)
    lines[number] = change(lines[number])
    return "\n".join(lines) + "\n"


def _numbers(rng, n_rows, n_columns, names=None):
    header = names or [f"c{number}" for number in range(n_columns)]
    return as_text([header, *rng.normal(size=(n_rows, n_columns)).round(3).tolist()])


FILES = {
    "ragged, short": lambda rng: _with_line(rng, 7, lambda line: line.rsplit(",", 1)[0]),
    "ragged, long": lambda rng: _with_line(rng, 7, lambda line: line + ",9,9"),
    "ragged header": lambda rng: _with_line(rng, 0, lambda line: line.rsplit(",", 1)[0]),
    "open quote": lambda rng: _with_line(rng, 7, lambda line: '"' + line),
    "quote in a cell": lambda rng: _with_line(rng, 7, lambda line: line + ' "x"'),
    "text after a quote": lambda rng: _with_line(rng, 7, lambda line: '"1"x' + line[1:]),
    "all quoted": lambda rng: _usual(rng, quoting=csv.QUOTE_ALL),
    "no end of line": lambda rng: _usual(rng).rstrip(),
    "ends of old Macs": lambda rng: _usual(rng, end="\r"),
    "ends of Windows": lambda rng: _usual(rng, end="\r\n"),
    "mixed ends": lambda rng: "".join(
        line + ("\n", "\r\n", "\r")[number % 3] for number, line in enumerate(_lines(rng))
    ),
    "blank lines": lambda rng: "\n\n".join(_lines(rng)) + "\n\n\n",
    "commas at the end": lambda rng: "".join(line + ",\n" for line in _lines(rng)),
    "lines of commas": lambda rng: _usual(rng) + ",,,\n" * 5,
    "comments": lambda rng: "# made by a machine\n# 2020\n" + _usual(rng),
    "a title above the header": lambda rng: "My table\n\n" + _usual(rng),
    "a unit below the header": lambda rng: _usual(rng).replace("\n", "\nmm,kg,s,\n", 1),
    "a sum below": lambda rng: _usual(rng) + "total,,,\n",
    "two tables": lambda rng: _usual(rng) + "\n" + _numbers(rng, 5, 2),
    "semicolons": lambda rng: _usual(rng, delimiter=";"),
    "semicolons and commas": lambda rng: _usual(rng, delimiter=";").replace(".", ","),
    "tabs": lambda rng: _usual(rng, delimiter="\t"),
    "bars": lambda rng: _usual(rng, delimiter="|"),
    "spaces": lambda rng: _usual(rng, delimiter=" "),
    "byte order mark": lambda rng: "\ufeff" + _usual(rng),
    "two byte order marks": lambda rng: "\ufeff\ufeff" + _usual(rng),
    "only a byte order mark": lambda rng: "\ufeff",
    "UTF-16": lambda rng: _usual(rng).encode("utf-16"),
    "UTF-16 without mark": lambda rng: _usual(rng).encode("utf-16-be"),
    "UTF-32": lambda rng: _usual(rng).encode("utf-32"),
    "Latin-1": lambda rng: _usual(rng).replace("a", "ä").encode("latin-1"),
    "a bad byte": lambda rng: _usual(rng).encode() + b"1,2,3,\xff\n",
    "surrogates in bytes": lambda rng: _usual(rng).encode() + b"1,2,3,\xed\xa0\x80\n",
    "overlong bytes": lambda rng: _usual(rng).encode() + b"1,2,3,\xc0\xaf\n",
    "a zero byte": lambda rng: _usual(rng).encode() + b"1,2,3,a\0b\n",
    "zero bytes": lambda rng: b"\0" * 5_000,
    "random bytes": lambda rng: rng.bytes(5_000),
    "empty": lambda rng: "",
    "one line end": lambda rng: "\n",
    "white space": lambda rng: " \n\t\n  ",
    "one comma": lambda rng: ",",
    "one cell": lambda rng: "x",
    "one number": lambda rng: "1",
    "header alone": lambda rng: "a,b,c\n",
    "no header": lambda rng: "\n".join(_lines(rng)[1:]),
    "one row": lambda rng: _numbers(rng, 1, 4),
    "two rows": lambda rng: _numbers(rng, 2, 4),
    "three rows": lambda rng: _numbers(rng, 3, 4),
    "four rows": lambda rng: _numbers(rng, 4, 4),
    "five rows of one column": lambda rng: _numbers(rng, 5, 1),
    "one column": lambda rng: _numbers(rng, 40, 1),
    "one column of text": lambda rng: as_text(cells(rng, ["words"])),
    "one column of names": lambda rng: as_text(cells(rng, ["all different"])),
    "10,000 columns": lambda rng: _numbers(rng, 3, 10_000),
    "columns of words": lambda rng: as_text(cells(rng, ["words"] * 300, n_rows=12)),
    "constant": lambda rng: as_text([["a", "b"], *[["1", "2"]] * 20]),
    "constant words": lambda rng: as_text([["a", "b"], *[["x", "y"]] * 20]),
    "all missing": lambda rng: as_text([["a", "b"], *[["", "NA"]] * 20]),
    "one value": lambda rng: as_text([["a", "b"], ["1", ""], *[["", ""]] * 20]),
    "repeated rows": lambda rng: as_text([["a", "b"], *[["1", "2"], ["3", "5"]] * 15]),
    "repeated rows but one": lambda rng: as_text([["a", "b"], ["9", "9"], *[["1", "2"]] * 30]),
    "columns of one direction": lambda rng: as_text(
        [["a", "b", "c"], *[[k, 2 * k, -3 * k] for k in range(30)]]
    ),
    "an outlier": lambda rng: _numbers(rng, 30, 3) + "1e200,0,0\n",
    "HTML": lambda rng: "<!DOCTYPE html>\n<html><body><p>404, not found</p>\n</body></html>\n",
    "JSON": lambda rng: json.dumps([{"a": k, "b": k * k} for k in range(9)], indent=1),
    "XML": lambda rng: '<?xml version="1.0"?>\n<!DOCTYPE x SYSTEM "file:///etc/passwd">\n<x/>\n',
    "PDF": lambda rng: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "a program": lambda rng: b"\x7fELF\x02\x01\x01" + rng.bytes(2_000),
    "an archive": lambda rng: b"PK\x03\x04" + rng.bytes(2_000),
    "one long line": lambda rng: "1," * 100_000 + "1\n",
    "commas alone": lambda rng: "," * 50_000 + "\n",
    "quotes alone": lambda rng: '"' * 10_001,
    "a million short lines": lambda rng: "a\n" + "1\n" * 100_000,
    "samples in columns": lambda rng: as_text(
        [["gene", "sample1", "sample2", "sample3"]]
        + [[f"ENSG{k:011d}", *rng.integers(99, size=3).tolist()] for k in range(20)]
    ),
}
"""Whole files by name: functions of a generator that return text or bytes."""


def _columns_with(name):
    return lambda rng: as_text(cells(rng, ["decimals", name, "integers"]))


def _header_of(names):
    columns = ["decimals", "integers", "decimals", "words"]
    return lambda rng: as_text(cells(rng, columns, names))


TEXTS = {
    **{f"cells: {name}": _columns_with(name) for name in CELLS},
    **{f"names: {name}": _header_of(names) for name, names in NAMES.items()},
    **{f"file: {name}": make for name, make in FILES.items()},
}
"""All kinds of tables of text, by name."""


def composed(rng):
    """Return a table of random columns under random names, in a random form, perhaps damaged."""
    columns = rng.choice(list(CELLS), size=rng.integers(1, 7)).tolist()
    names = NAMES[rng.choice(list(NAMES))] if rng.random() < 0.3 else []
    n_rows = int(rng.choice([1, 2, 3, 5, 12, 40, 150]))
    rows = cells(rng, columns, names, n_rows)
    delimiter, end = rng.choice([",", ",", ";", "\t", "|"]), rng.choice(["\n", "\n", "\r\n", "\r"])
    quoting = csv.QUOTE_ALL if rng.random() < 0.1 else csv.QUOTE_MINIMAL
    text = as_text(rows, str(delimiter), str(end), quoting)
    content = text.encode(str(rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"])))
    return damaged(rng, content) if rng.random() < 0.3 else content


def damaged(rng, content):
    """Return bytes of which a few are changed, taken out, doubled or cut."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        if not content:
            break
        at, size = int(rng.integers(len(content))), int(rng.integers(1, 30))
        change = rng.integers(4)
        if change == 0:
            content[at] = int(rng.integers(256))
        elif change == 1:
            del content[at : at + size]
        elif change == 2:
            content[at:at] = content[at : at + size]
        else:
            content[at:at] = bytes(rng.choice(list(b'",;\t\r\n\0-+.e9[]\x1b'), size=3).tolist())
    return bytes(content)
