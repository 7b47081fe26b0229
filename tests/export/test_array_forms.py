"""Forms of arrays: the same bits back, bounded memory, nothing but errors for damaged ones."""

import io
import json
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

import twofold
from benchmarks.fuzz._forging import Forged, zipped
from twofold import ModelFileError, TwoWay
from twofold.datasets import make_s_curve
from twofold.export.array_forms import FREE_BYTES, MOST_RATIO, Allowance, Packed, Unpacking, digest
from twofold.export.documents import as_npy
from twofold.export.model_files import FORMAT, from_bytes, sizes, to_bytes
from twofold.numerics.units import CenteredUnits

RNG = np.random.default_rng(0)
WHOLE = RNG.integers(0, 256, size=(500, 7)).astype(float)
CENTERED = (WHOLE - WHOLE.mean(axis=0)) / 8.0
MANY = RNG.integers(0, 3_000, size=(20_000, 2)) / 7.0
NOISE = RNG.normal(size=(500, 5))

ARRAYS = {
    "whole": WHOLE,
    "centered": CENTERED,
    "fortran": np.asfortranarray(CENTERED),
    "one column, fortran": np.asfortranarray(np.column_stack([CENTERED[:, :1], NOISE])),
    "single": CENTERED.astype(np.float32),
    "two bytes": MANY,
    "mixed": np.column_stack([CENTERED, NOISE, CENTERED[:, 0]]),
    "mixed, all kinds": np.column_stack([MANY, RNG.normal(size=20_000), MANY[:, 0] // 50]),
    "noise": NOISE,
    "exactly single": NOISE.astype(np.float32).astype(float),
    "vector": CENTERED[:, 0],
    "one row": CENTERED[:1],
    "empty": np.empty((0, 3)),
    "no columns": np.empty((500, 0)),
    "scalar": np.array(3.5),
    "zeros of both signs": np.where(WHOLE > 128, 0.0, -0.0),
    "not finite": np.where(WHOLE > 250, np.nan, np.where(WHOLE < 5, -np.inf, WHOLE)),
    "numbers": np.arange(10_000),
    "flags": WHOLE > 100,
    "text": np.array(["a", "bc"] * 400),
    "complex": NOISE + 1j * NOISE,
    "cube": RNG.normal(size=(50, 4, 5)),
    "big endian": NOISE.astype(">f8"),
    "slice": CENTERED[::2, 1:],
}


def unpacked(packed, n_bytes=2**30):
    entries = {name: payload for name, payload, _ in packed.entries}
    allowance = Allowance(n_bytes)

    def read(name, _):
        allowance.take(len(entries[name]))
        return entries[name]

    return Unpacking(read, allowance, plain_only=False).arrays(packed.listed)


def assert_same(found, wanted):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()
    if wanted.flags.forc:
        assert found.flags.c_contiguous == wanted.flags.c_contiguous
        assert found.flags.f_contiguous == wanted.flags.f_contiguous


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("name", ARRAYS)
def test_every_bit_comes_back(name, compact):
    packed = Packed.of([ARRAYS[name]], compact=compact)
    assert_same(unpacked(packed)[0], ARRAYS[name])
    assert_same(unpacked(packed, packed.unpacked)[0], ARRAYS[name])
    if packed.unpacked:
        with pytest.raises(ModelFileError, match="unpack to more than"):
            unpacked(packed, packed.unpacked - 1)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("whole", "levels"),
        ("centered", "levels"),
        ("two bytes", "levels"),
        ("mixed", "levels"),
        ("exactly single", "planes"),
        ("numbers", "planes"),
        ("scalar", None),
        ("flags", None),
    ],
)
def test_the_form_that_is_chosen(name, form):
    assert Packed.of([ARRAYS[name]]).listed[0].get("form") == form


def test_equal_arrays_are_stored_once_and_stay_apart():
    packed = Packed.of([NOISE, NOISE.copy(), NOISE.T.copy(), -NOISE, NOISE])
    assert [one.get("form") for one in packed.listed].count("same") == 2
    found = unpacked(packed)
    found[0][:] = 0.0
    assert_same(found[1], NOISE)
    assert_same(found[4], NOISE)


def test_a_zero_is_not_another_zero():
    packed = Packed.of([np.zeros(500), -np.zeros(500)])
    assert np.signbit(unpacked(packed)[1]).all()


def test_a_table_of_whole_numbers_makes_a_small_file(tmp_path):
    """Gray values take about a byte each and not eight, in all places where they are."""
    X = np.round(20.0 * make_s_curve(600, random_state=0)[0][:, [0, 1, 2] * 20])
    model = TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)
    model.save(tmp_path / "m.twofold")
    assert (tmp_path / "m.twofold").stat().st_size < 0.25 * 8 * X.size
    again = twofold.load(tmp_path / "m.twofold")
    assert_same(again.decoder_.targets_, model.decoder_.targets_)
    np.testing.assert_array_equal(again.transform(X[:50]), model.transform(X[:50]))
    found = sizes(tmp_path / "m.twofold")
    assert {"NadarayaWatson.targets_", "NadarayaWatson.inputs_"} <= {one for one, _ in found}
    assert [size for _, size in found] == sorted((size for _, size in found), reverse=True)
    assert 0 < sum(size for _, size in found) < (tmp_path / "m.twofold").stat().st_size


def test_models_more_regular_than_a_reader_allows_are_written_anyway(monkeypatch):
    """The writer deflates fewer entries, and what it writes can be read."""
    monkeypatch.setattr("twofold.export.array_forms.FREE_BYTES", 2**20)
    units = CenteredUnits.identity(200)
    held = {"regular": np.zeros((2_000, 2_000), dtype=np.float32)}
    content = to_bytes(_checkpoint(held), "a test")
    assert len(content) < held["regular"].nbytes / 2
    found = from_bytes(content, "a test", type(_checkpoint({})), "these bytes")
    assert_same(found.steps["regular"], held["regular"])
    assert len(to_bytes(units, "a test")) < 10_000


def _checkpoint(steps):
    from twofold.dask._checkpoint import Checkpoint

    return Checkpoint({}, steps)


def test_single_precision_rounds_what_means_are_taken_of(tmp_path):
    X = make_s_curve(400, random_state=0)[0][:, [0, 1, 2] * 5] * np.linspace(1.0, 2.0, 15)
    model = TwoWay("pca", up="nw", down="projection", random_state=0).fit(X)
    for precision in ("exact", "single"):
        model.save(tmp_path / precision, precision=precision)
    again = twofold.load(tmp_path / "single")
    assert (tmp_path / "single").stat().st_size < 0.9 * (tmp_path / "exact").stat().st_size
    Z = model.embedding_
    np.testing.assert_array_equal(again.embedding_, Z)
    np.testing.assert_array_equal(again.log_density(Z), model.log_density(Z))
    error = np.abs(again.inverse_transform(Z) - model.inverse_transform(Z)).max()
    assert 0.0 < error < 2e-7 * np.abs(X - X.mean(axis=0)).max()
    again.save(tmp_path / "twice", precision="single")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "single").read_bytes()
    with pytest.raises(ValueError, match="precision='half' must be one of"):
        model.save(tmp_path / "m.twofold", precision="half")


# Hostile files


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.twofold"
    X = np.round(20.0 * make_s_curve(300, random_state=0)[0])
    TwoWay("pca", up="nw", down="nw", random_state=0).fit(X).save(path)
    return path.read_bytes()


def entries_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    return entries, json.loads(entries["model.json"])


def refused(entries, document, folder, match, deflated=()):
    text = json.dumps(document).encode()
    (folder / "forged.twofold").write_bytes(
        zipped(
            entries | {"model.json": text, "sha256": digest(text).encode()},
            deflated,
        )
    )
    with pytest.raises(ModelFileError, match=match):
        twofold.load(folder / "forged.twofold")


def plain(array):
    payload = as_npy(array)
    return payload, {"sha256": digest(payload), "bytes": len(payload)}


def test_older_formats_have_no_forms(content, tmp_path):
    entries, document = entries_of(content)
    assert document["format"] == FORMAT == 5
    assert any(one.get("form") == "levels" for one in document["arrays"])
    refused(entries, document | {"format": 4}, tmp_path, "is not described")
    forged = Forged(content)
    forged.document["format"] = 4
    (tmp_path / "four.twofold").write_bytes(forged.signed())
    twofold.load(tmp_path / "four.twofold")


class TestBombs:
    """A few bytes do not become many."""

    @pytest.mark.parametrize("n_bytes", [FREE_BYTES + 2**24, 10**9])
    def test_an_entry_that_inflates(self, n_bytes, content, tmp_path):
        entries, document = entries_of(content)
        header = as_npy(np.zeros(0, dtype=np.uint8)).replace(b"(0,)", b"(%d,)" % n_bytes)
        payload = header[:-1].rstrip() + b"\n" + bytes(10**6)
        document["arrays"][0] = {"sha256": digest(payload), "bytes": n_bytes}
        # An archive whose directory promises the size, and whose stream has less.
        made = bytearray(self.archive(entries | {"0.npy": payload}, document, {"0.npy"}))
        self.state_size(made, b"0.npy", n_bytes)
        tracemalloc.start()
        (tmp_path / "bomb.twofold").write_bytes(made)
        with pytest.raises(ModelFileError, match="unpack to more than 100 times"):
            twofold.load(tmp_path / "bomb.twofold")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**25

    def test_a_stream_longer_than_stated(self, content, tmp_path):
        """The directory states a few bytes; the stream has 100 million."""
        entries, document = entries_of(content)
        payload = bytes(10**8)
        document["arrays"][0] = {"sha256": digest(payload[:1000]), "bytes": 1000}
        made = bytearray(self.archive(entries | {"0.npy": payload}, document, {"0.npy"}))
        self.state_size(made, b"0.npy", 1000)
        (tmp_path / "bomb.twofold").write_bytes(made)
        del payload
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            twofold.load(tmp_path / "bomb.twofold")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**25

    @staticmethod
    def archive(entries, document, deflated):
        text = json.dumps(document).encode()
        return zipped(entries | {"model.json": text, "sha256": digest(text).encode()}, deflated)

    @staticmethod
    def state_size(content, name, n_bytes):
        """State another size of an entry, in its header and in the directory."""
        for start, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
            at = content.index(start)
            length = 30 if place == 22 else 46
            while content[at + length : at + length + len(name)] != name:
                at = content.index(start, at + 1)
            content[at + place : at + place + 4] = int(n_bytes).to_bytes(4, "little")

    def test_many_copies(self, content, tmp_path):
        entries, document = entries_of(content)
        n = len(document["arrays"])
        entries[f"{n}.npy"], facts = plain(np.zeros(2**20))
        copies = [{"form": "same", "as": n}] * (FREE_BYTES // 2**23 + MOST_RATIO + 200)
        document["arrays"] += [facts, *copies]
        deflated = {f"{n}.npy"}
        refused(entries, document, tmp_path, "unpack to more than", deflated)

    def test_levels_of_long_codes(self, content, tmp_path):
        entries, document = entries_of(content)
        n, rows = len(document["arrays"]), 10**7
        parts = [
            np.ones(1, dtype=np.int32),
            np.zeros(1),
            np.zeros((rows, 1), dtype=np.uint8),
            np.zeros((rows, 0), dtype=np.uint16),
            np.zeros((rows, 0)),
        ]
        listed = []
        for place, part in enumerate(parts):
            entries[f"{n}-{place}.npy"], facts = plain(part)
            listed.append(facts)
        form = {"form": "levels", "shape": [rows, 1], "order": "C", "parts": listed}
        document["arrays"].append(form)
        refused(entries, document, tmp_path, "unpack to more than", {f"{n}-2.npy"})

    @pytest.mark.parametrize("shape", [(10**15, 0), (0, 3)])
    def test_levels_without_values(self, shape, content, tmp_path):
        """Any number of rows takes no bytes if there are no columns, but time to go through."""
        entries, document = entries_of(content)
        n, (rows, columns) = len(document["arrays"]), shape
        parts = [np.ones(columns, dtype=np.int32), np.zeros(columns)]
        parts += [np.zeros(shape, dtype=np.uint8), np.zeros((rows, 0), dtype=np.uint16)]
        parts.append(np.zeros((rows, 0)))
        listed = []
        for place, part in enumerate(parts):
            entries[f"{n}-{place}.npy"], facts = plain(part)
            listed.append(facts)
        form = {"form": "levels", "shape": list(shape), "order": "C", "parts": listed}
        document["arrays"].append(form)
        refused(entries, document, tmp_path, "without values")

    def test_other_compressions(self, content, tmp_path):
        entries, document = entries_of(content)
        text = json.dumps(document).encode()
        for way in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            with zipfile.ZipFile(tmp_path / "m.twofold", "w") as archive:
                for name, payload in entries.items():
                    archive.writestr(name, payload, way if name == "0.npy" else None)
            with pytest.raises(ModelFileError, match="compressed"):
                twofold.load(tmp_path / "m.twofold")
        assert len(zlib.compress(text)) < len(text)


class TestDamagedForms:
    """Descriptions and parts that do not fit are errors, and reach no loop."""

    def levels(self, content):
        entries, document = entries_of(content)
        number = next(n for n, one in enumerate(document["arrays"]) if one.get("form") == "levels")
        return entries, document, number

    @pytest.mark.parametrize(
        ("place", "change", "match"),
        [
            (0, lambda A: A.astype(np.int64), "columns are not described"),
            (0, lambda A: -A, "columns are not described"),
            (0, lambda A: A + 1, "stated number of levels"),
            (0, lambda A: A[:-1], "columns are not described"),
            (0, lambda A: np.full_like(A, 2**31 - 1), "stated number of levels"),
            (1, lambda A: A[:-1], "stated number of levels"),
            (1, lambda A: A.astype(np.int64), "not floats"),
            (1, lambda A: A.astype(np.float32), "not floats"),
            (1, lambda A: A[None], "not floats"),
            (2, lambda A: np.full_like(A, 255), "codes without a level"),
            (2, lambda A: A.astype(np.uint16), "another shape"),
            (2, lambda A: A[:-1], "another shape"),
            (2, lambda A: A.T.copy(), "another shape"),
            (3, lambda A: np.zeros((len(A), 1), dtype=A.dtype), "another shape"),
            (4, lambda A: np.zeros((len(A), 1)), "another shape"),
            (4, lambda A: A.astype(">f8"), "not floats"),
        ],
        ids=range(16),
    )
    def test_parts(self, place, change, match, content, tmp_path):
        entries, document, number = self.levels(content)
        listed = document["arrays"][number]["parts"]
        read = lambda name, _: entries[name]
        unpacking = Unpacking(read, Allowance(2**30), plain_only=False)
        part = unpacking._from_entry(
            f"{number}-{place}", listed[place], listed[place].get("form", "plain")
        )
        entries[f"{number}-{place}.npy"], listed[place] = plain(change(part))
        refused(entries, document, tmp_path, match)

    @pytest.mark.parametrize(
        "change",
        [
            {"shape": [10**12, 10**12]},
            {"shape": [-1, -1]},
            {"shape": [True, 3]},
            {"shape": "no"},
            {"shape": []},
            {"shape": [300]},
            {"order": "A"},
            {"order": None},
            {"parts": []},
            {"parts": None},
            {"parts": [None] * 5},
            {"parts": [{"form": "levels"}] * 5},
            {"parts": [{"form": "same", "as": 0}] * 5},
            {"form": "planes"},
            {"form": "other"},
            {"form": None},
            {"form": []},
            {"form": "same"},
            {"form": "same", "as": -1},
            {"form": "same", "as": 10**9},
            {"form": "same", "as": True},
        ],
        ids=str,
    )
    def test_descriptions(self, change, content, tmp_path):
        entries, document, number = self.levels(content)
        document["arrays"][number] |= change
        refused(entries, document, tmp_path, "array|read")

    @pytest.mark.parametrize("cut", [1, 3, 7])
    def test_planes_of_another_size(self, cut, content, tmp_path):
        entries, document = entries_of(content)
        payload, facts = plain(NOISE)
        payload = payload[:-cut]
        entries["0.npy"] = payload
        facts |= {"form": "planes", "sha256": digest(payload), "bytes": len(payload)}
        document["arrays"][0] = facts
        refused(entries, document, tmp_path, "array 0 cannot be read")
