"""Row 36 of the torture table: bad input and faults on the command line.

Every command reads every bad table, and fails with one line on standard error and exit code 1 or 2.
It leaves no new file and changes no file.
"""

import numpy as np
import pytest
from cli_runs import QUICK, ROLES, fails, files_in, flowers, run, write_flowers

import twofold
from twofold.principal_manifold import KPlanes

GOOD = flowers(20).to_csv(index=False)
LINES = GOOD.splitlines()


def changed(line, text):
    return "\n".join([*LINES[:line], text, *LINES[line + 1 :]]) + "\n"


BAD_TABLES = {
    "missing file": (None, "no such file"),
    "empty file": (b"", "is empty"),
    "blank lines alone": (b"\n \n\n", "is empty"),
    "names and no rows": (LINES[0], "and no rows"),
    "a name twice": (GOOD.replace("height", "width"), "more than one column with the name width"),
    "a first line of both": (
        GOOD.replace("width", "12.5"),
        "both names ('plant') and numbers ('12.5')",
    ),
    "a column without name": (GOOD.replace("height", ""), "column 3 has no name in the header"),
    "a cell too many": (
        changed(7, LINES[7] + ",9"),
        "line 8 has 6 cells where the first line has 5",
    ),
    "a cell too few": (changed(7, "p,1,2,3"), "line 8 has 4 cells where the first line has 5"),
    "an open quote": (changed(7, 'p,"1,2,3,rose'), "is a double quote left open?"),
    "text among numbers": (
        changed(4, "p,1,2,tall,rose"),
        "column leaf length has 'tall' in line 5",
    ),
    "infinity": (changed(4, "p,1,inf,3,rose"), "column height is infinite in line 5"),
    "too large a number": (changed(4, "p,1,1e999,3,rose"), "column height"),
    "no values": (LINES[0] + "\np,,,,rose\nq,,NA,?,rose\n", "no row has a value"),
    "no text": (bytes(range(256)) * 4, "is not UTF-8 text"),
    "another encoding": (GOOD.replace("rose", "Röse").encode("latin-1"), "is not UTF-8 text"),
    "two bytes a letter": (GOOD.encode("utf-16"), "is not UTF-8 text"),
    "one column of prose": ("It was a dark night.\nAnd so on.\n", ""),
}


COMMANDS = {
    "fit": lambda model, data, out: (
        "fit",
        data,
        *QUICK,
        *ROLES,
        "-o",
        out / "m.twofold",
        "--embedding",
        out / "z.csv",
    ),
    "transform": lambda model, data, out: ("transform", model, data, *ROLES, "-o", out / "z.csv"),
    "reconstruct": lambda model, data, out: (
        "reconstruct",
        model,
        data,
        *ROLES,
        "-o",
        out / "z.npz",
    ),
    "score": lambda model, data, out: ("score", model, data, *ROLES, "-o", out / "z.tsv"),
    "plot": lambda model, data, out: ("plot", model, data, *ROLES, "-o", out / "map.png"),
    "impute": lambda model, data, out: ("impute", model, data, "-o", out / "z.parquet"),
    "bench": lambda model, data, out: ("bench", data, *ROLES, "-m", "pca"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("bad", BAD_TABLES)
def test_bad_tables(command, bad, model, tmp_path):
    content, said = BAD_TABLES[bad]
    data = tmp_path / "data.csv"
    if content is not None:
        data.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = tmp_path / "out"
    out.mkdir()
    for name in ("m.twofold", "z.csv"):
        (out / name).write_text("what was there before")
    before = model.read_bytes()
    error = fails(*COMMANDS[command](model, data, out))
    # A column that the model needs and the table lacks is reported before the fault.
    assert said in error or ("lacks" in error and ("name" in bad or "both" in bad)), error
    assert str(data) in error or "no such column" in error
    assert files_in(out) == ["m.twofold", "z.csv"]
    assert {path.read_text() for path in out.iterdir()} == {"what was there before"}
    assert model.read_bytes() == before


def test_wrong_names_and_kinds(tmp_path):
    data = write_flowers(tmp_path)
    fit = ("fit", data, *QUICK, "-o", tmp_path / "m.twofold")
    error = fails(*fit, "--label", "kinds")
    assert error == f"--label kinds: {data} has no such column; did you mean kind?"
    assert "did you mean width?" in fails(*fit, "--kind", "widt=log")
    assert "must be COL=KIND" in fails(*fit, "--kind", "width", code=2)
    assert "must be one of number, log" in fails(*fit, "--kind", "width=float", code=2)
    assert "needs a column of numbers" in fails(*fit, "--kind", "kind=number")
    assert "is for tables of numbers" in fails(*fit, "--scale", "standard", code=2)
    assert "no column left to use; left out: width" in fails(
        *fit, *ROLES, "--drop", "width", "--drop", "height", "--kind", "leaf length=drop"
    )
    assert files_in(tmp_path) == ["flowers.csv"]


@pytest.mark.parametrize(
    "name", ["data.txt", "data", "data.ods", "folder.csv", "folder/data.csv", "flower.csv"]
)
def test_files_that_are_no_tables(tmp_path, name):
    write_flowers(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    for other in ("data.txt", "data", "data.ods"):
        (tmp_path / other).write_text(GOOD)
    code = 2 if name.startswith("data") else 1
    error = fails("fit", tmp_path / name, *QUICK, "-o", tmp_path / "m.twofold", code=code)
    hints = {
        "flower.csv": "did you mean",
        "folder.csv": "is a folder",
        "folder/data.csv": "no folder",
        "data.ods": "save it as .xlsx or .csv",
        "data.txt": "rename it to .csv, or use --format csv",
        "data": "rename it, or name its format, such as --format csv",
    }
    assert hints[name] in error
    assert not (tmp_path / "m.twofold").exists()


def test_format_takes_the_place_of_a_suffix(tmp_path):
    data = tmp_path / "data.txt"
    data.write_text(GOOD)
    run("fit", data, "--format", "csv", *QUICK, *ROLES, "-o", tmp_path / "m.twofold")


@pytest.mark.parametrize("command", ["transform", "score", "reconstruct", "info", "sample", "plot"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "not a model file"),
        (b"width,height\n1,2\n", "not a model file"),
        ("cut", ""),
        ("folder", "is a folder"),
    ],
)
def test_bad_models(command, content, said, model, tmp_path):
    bad = tmp_path / "bad.twofold"
    if content == "folder":
        bad.mkdir()
    elif content is not None:
        bad.write_bytes(model.read_bytes()[:-200] if content == "cut" else content)
    data = (
        [write_flowers(tmp_path)]
        if command in ("transform", "score", "reconstruct", "plot")
        else []
    )
    out = (
        []
        if command == "info"
        else ["-o", tmp_path / ("map.png" if command == "plot" else "out.csv")]
    )
    error = fails(command, bad, *data, *out)
    assert said in error
    assert str(bad) in error
    assert set(files_in(tmp_path)) <= {"bad.twofold", "flowers.csv"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["-m", "ukr", "--set", "max_itr=5"],
            2,
            "ukr has no parameter max_itr; did you mean max_iter?",
        ),
        (["-m", "ukr", "--set", "xyz=5"], 2, "there are density_threshold, guidance"),
        (["-m", "ukr", "--set", "max_iter"], 2, "write it as name=value"),
        (["-m", "ukr", "--set", "max_iter=5", "--set", "max_iter=6"], 2, "max_iter is given twice"),
        (["--set", "n_components=3"], 2, "use -q 3"),
        (["--set", "random_state=3"], 2, "use --seed 3"),
        (["-m", "ukr", "--set", "max_iter=-5"], 1, "max_iter=-5 must be at least 1"),
        (["-m", "ukr", "--set", "kernel=round"], 1, "kernel='round'"),
        (["-q", "0"], 2, "'0' must be an integer >= 1"),
        (["-q", "two"], 2, "'two' must be an integer >= 1"),
        (["-q", "9"], 1, "n_components=9 must be at most n_features=3"),
        (["-m", "ukr", "-q", "auto"], 2, "-q auto is for -m auto and isomap"),
        (["--set", "max_iter=5"], 2, "name a method that has it, such as -m ukr"),
        (["--set", "effort=fast"], 2, "use --effort fast"),
        (["--effort", "slow"], 2, "'slow' must be one of fast, balanced, best, or seconds > 0"),
        (["--effort", "-3"], 2, "'-3' must be one of"),
        (["-m", "ukr", "--effort", "best"], 2, "--effort is for -m auto"),
        (["-m", "ukkr"], 2, "'ukkr' is not one of"),
        (["--hold-out", "0.999"], 2, "leaves"),
        (["--hold-out", "0.001"], 2, "leaves"),
        (["--hold-out", "2"], 2, "2"),
        (["--seed", "-1"], 2, "-1"),
        (["--label", "nothing"], 1, "there are plant, width, height, leaf length, kind"),
        (["--drop", "wid"], 1, "did you mean width?"),
        (["--scale", "maybe"], 2, "maybe"),
        (["--set", "scale=robust"], 2, "use --scale robust"),
        (
            ["--drop", "width", "--drop", "height", "--drop", "leaf length"],
            1,
            "no column left to use",
        ),
    ],
)
def test_bad_arguments_of_fit(tmp_path, arguments, code, said):
    data = write_flowers(tmp_path)
    label = [] if "--label" in arguments else ["--label", "kind"]
    out = tmp_path / "m.twofold"
    assert said in fails("fit", data, *label, "--id", "plant", *arguments, "-o", out, code=code)
    assert files_in(tmp_path) == ["flowers.csv"]


def test_labels_where_they_are_needed(tmp_path):
    out = ("-o", tmp_path / "m.twofold")
    data = write_flowers(tmp_path)
    method = ("-m", "supervised-isomap", "--id", "plant")
    assert "name their column with --label" in fails(
        "fit", data, *method, "--drop", "kind", *out, code=2
    )
    frame = flowers(20)
    frame.loc[4, "kind"] = None
    frame.to_csv(data, index=False)
    error = fails("fit", data, *method, "--label", "kind", *out)
    assert error == "1 row without a label in kind, the first is row 4; label or remove these rows"
    frame["kind"] = "rose"
    frame.to_csv(data, index=False)
    assert "one class" in fails("fit", data, *method, "--label", "kind", *out)
    assert files_in(tmp_path) == ["flowers.csv"]


def test_models_that_the_command_line_does_not_support(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 2))
    twofold.save(KPlanes(random_state=0).fit(X), tmp_path / "planes.twofold")
    assert "holds a KPlanes" in fails("sample", tmp_path / "planes.twofold", code=1)
