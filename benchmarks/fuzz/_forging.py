"""Forged model files: saved models with changed values, arrays or bytes, and digests that fit.

A digest tells damage, not intent: whoever changes a file can sign it again. So forged files reach
all checks behind the digests.
"""

import hashlib
import io
import json
import struct
import zipfile
from contextlib import suppress

import numpy as np

from twofold.export.array_forms import Allowance, Packed, Unpacking
from twofold.export.documents import as_npy, from_npy
from twofold.export.object_graph import CLASSES

PLAIN = [None, True, False, 0, 1, -1, 2, 7, 10**9, 10**12, 2**31, 2**63, -(2**63), 10**30]
PLAIN += [0.0, -0.0, 0.5, -1.5, 1e-300, 1e300, -1e300, 1.7e308]
PLAIN += ["", "x", "gaussian", "quartic", "rbf", "linear", "precomputed", "auto", "__class__"]
PLAIN += [[], {}, [[]], [0], [1.0, 2.0], {"a": 1}, [None] * 3]
SPECIAL = [{"$float": "nan"}, {"$float": "inf"}, {"$float": "1e9"}, {"$float": 3}, {"$tuple": []}]
SPECIAL += [{"$tuple": [0, 1]}, {"$tuple": 3}, {"$items": [[1, 2]]}, {"$items": [[[], 2]]}]
SPECIAL += [{"$strings": ["a", "b"]}, {"$strings": [["a"], []]}, {"$strings": 5}]
SPECIAL += [{"$unsaved": "x"}, {"$unsaved": []}, {"$rng": {}}, {"$rng": None}, {"$code": "1"}]
SPECIAL += [{"$object": -1}, {"$object": 0}, {"$array": -1}, {"$array": "0"}, {"$scalar": 0}]
SPECIAL += [{"$tree": 0}, {"$csr": [0, 0, 0, [2, 2]]}, {"$csr": [0, 0]}]
NAMES = ["transform", "predict", "fit", "_neighbors", "_index", "_places", "__dict__", "columns"]
NAMES += ["x_", "n_jobs", "kernel", "local", "$array", "a b", "\ud800", "é", "_learned_names"]
TYPES = ["<f4", "<f8", ">f8", "<f2", "<i4", "<i8", "|u1", "|b1", "<c16", "<U3", "|S2", "<u4"]
VALUES = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e12, 1e160, 1e308, -1e308, 1e-308]


class Forged:
    """The parts of a model file, which can be changed, and signed again.

    Its arrays become plain ones; `_form` puts some of them into other forms again.
    """

    def __init__(self, content):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        self.document = json.loads(entries["model.json"])
        unpacking = Unpacking(
            lambda name, _: entries[name], Allowance(2**31), plain_only=self.document["format"] < 5
        )
        arrays = unpacking.arrays(self.document["arrays"])
        self.payloads = [as_npy(array) for array in arrays]

    @property
    def nodes(self):
        return self.document["objects"]

    def array(self, number):
        return np.load(io.BytesIO(self.payloads[number]))

    def replace(self, number, array):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        self.payloads[number] = buffer.getvalue()

    def signed(self, text=None):
        """Return the content of a file whose digests fit."""
        if isinstance(self.document.get("arrays"), list):
            for number, payload in enumerate(self.payloads):
                if number < len(self.document["arrays"]):
                    facts = {"sha256": _digest(payload), "bytes": len(payload)}
                    self.document["arrays"][number] = facts
        if text is None:
            text = json.dumps(self.document).encode()
        entries = {"model.json": text, "sha256": _digest(text).encode()}
        entries |= {f"{number}.npy": one for number, one in enumerate(self.payloads)}
        return zipped(entries)


def zipped(entries, deflated=()):
    """Return a zip archive of entries, some of them deflated."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, payload in entries.items():
            way = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), bytes(payload), way)
    return buffer.getvalue()


def forge(content, rng):
    """Return a forged file made of a saved model, and what was changed."""
    forged = Forged(content)
    notes = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        change = WAYS[int(rng.integers(len(WAYS)))]
        try:
            made = change(forged, rng)
        except NothingLeftError:
            continue
        if isinstance(made, tuple):  # the whole file
            return made
        notes.append(made)
    return forged.signed(), "; ".join(notes)


def _value(forged, rng):
    """Replace a value anywhere in the objects."""
    holder, key, place = _place(forged.nodes, rng)
    holder[key] = _other(forged, rng, holder[key])
    return f"{place} = {str(holder[key])[:60]}"


def _reference(forged, rng):
    """Let a reference name another object or array."""
    found = [one for one in _mappings(forged.nodes) if {"$object", "$array"} & set(one)]
    one = _one_of(found, rng)
    kind = next(iter(one))
    most = len(forged.nodes) if kind == "$object" else len(forged.payloads)
    one[kind] = _one_of(range(most), rng)
    return f"{kind} -> {one[kind]}"


def _class(forged, rng):
    """Give an object another class."""
    node = _one_of(forged.nodes, rng)
    before, node["class"] = node["class"], _one_of(sorted(CLASSES), rng)
    return f"{before} is a {node['class']}"


def _swap(forged, rng):
    """Swap two values of one object."""
    state = _one_of(forged.nodes, rng)["state"]
    if len(state) < 2:
        return "nothing"
    first, second = (_one_of(sorted(state), rng) for _ in range(2))
    state[first], state[second] = state[second], state[first]
    return f"{first} and {second} swapped"


def _missing(forged, rng):
    """Remove an attribute."""
    state = _one_of(forged.nodes, rng)["state"]
    key = _one_of(sorted(state), rng) if state else None
    state.pop(key, None)
    return f"no {key}"


def _extra(forged, rng):
    """Add an attribute."""
    node = _one_of(forged.nodes, rng)
    key = _one_of(NAMES, rng)
    node["state"][key] = _other(forged, rng, None)
    return f"{node['class']}.{key}"


def _fact(forged, rng):
    """Change a fact beside the objects."""
    key = _one_of(sorted(forged.document), rng)
    forged.document[key] = _one_of(PLAIN, rng)
    note = f"{key} = {str(forged.document[key])[:40]}"
    if rng.random() < 0.2:
        del forged.document[key]
    return forged.signed(), note


def _array_value(forged, rng):
    """Change values of an array."""
    number, array = _some_array(forged, rng)
    if not array.size:
        return "nothing"
    array = np.array(array)
    flat = array.reshape(-1)
    where = slice(None) if rng.random() < 0.3 else int(rng.integers(flat.size))
    with np.errstate(all="ignore"):
        if array.dtype.kind in "iu":
            change = _one_of([1, -1, 10**6, 10**12, -(10**12), len(flat)], rng)
            info = np.iinfo(array.dtype)
            flat[where] = np.clip(flat[where].astype(object) + change, info.min, info.max)
        elif array.dtype.kind == "b":
            flat[where] = ~flat[where]
        elif array.dtype.kind in "fc":
            value = _one_of(VALUES, rng)
            flat[where] = value if rng.random() < 0.6 else flat[where] * value
    forged.replace(number, array)
    return f"array {number}[{where}]"


def _array_shape(forged, rng):
    """Change the shape of an array: wider, narrower, longer, shorter, turned or nested."""
    number, array = _some_array(forged, rng)
    ways = [
        lambda A: np.repeat(A, 3, axis=-1),
        lambda A: np.repeat(A, int(rng.integers(2, 200)), axis=-1),
        lambda A: np.repeat(A, 2, axis=0),
        lambda A: A[..., :-1],
        lambda A: A[:-1],
        lambda A: A[:1],
        lambda A: A[:0],
        lambda A: A[..., :0],
        lambda A: A.T,
        np.asfortranarray,
        lambda A: A.ravel(),
        lambda A: A[None],
        lambda A: A[..., None],
        lambda A: np.zeros((), A.dtype),
    ]
    changed = _one_of(ways, rng)(np.atleast_1d(array))
    if changed.nbytes < 2**26:
        forged.replace(number, changed)
    return f"array {number} of {array.shape} has {changed.shape}"


def _array_type(forged, rng):
    """Change the type of an array."""
    number, array = _some_array(forged, rng)
    kind = _one_of(TYPES, rng)
    with np.errstate(all="ignore"), suppress(ValueError):  # text that is no number stays text
        forged.replace(number, array.astype(kind))
    return f"array {number} of {array.dtype} is {kind}"


def _array_bytes(forged, rng):
    """Change bytes of an array's entry, most of them in its header."""
    number = _one_of(range(len(forged.payloads)), rng)
    payload = bytearray(forged.payloads[number])
    shapes = [b"(True,)", b"(-1,)", b"(10**9,)", b"(99999999999,)", b"((),)", b"[3]", b"{}"]
    if rng.random() < 0.3:
        start, end = payload.find(b"("), payload.find(b")")
        payload[start : end + 1] = _one_of(shapes, rng)
    elif rng.random() < 0.2:
        del payload[int(rng.integers(len(payload))) :]
    else:
        for _ in range(int(rng.integers(1, 4))):
            most = min(len(payload), 128 if rng.random() < 0.8 else 2**30)
            payload[int(rng.integers(most))] = int(rng.integers(256))
    forged.payloads[number] = bytes(payload)
    return f"bytes of array {number}"


def _text(forged, rng):
    """Change the text of the document."""
    text = json.dumps(forged.document)
    at = int(rng.integers(len(text)))
    pieces = ['"x":1,', "NaN", "1e999", "\\ud800", "[" * 3000, "9" * 5000, "{", "]", "\x00", '"']
    text = text[:at] + _one_of(pieces, rng) + text[at + int(rng.integers(3)) :]
    return forged.signed(text.encode("utf-8", "surrogatepass")), f"text at {at}"


def _archive(forged, rng):
    """Change the archive around the entries."""
    content = bytearray(forged.signed())
    directory = content.index(b"PK\x01\x02")
    way = int(rng.integers(5))
    if way == 0:  # encrypted, or with other flags
        struct.pack_into("<H", content, directory + 8, int(rng.integers(2**16)))
    elif way == 1:  # other sizes
        struct.pack_into("<II", content, directory + 20, *rng.integers(2**32, size=2).tolist())
    elif way == 2:  # anywhere in the directory
        for _ in range(3):
            at = int(rng.integers(directory, len(content)))
            content[at] = int(rng.integers(256))
    elif way == 3:
        del content[int(rng.integers(len(content))) :]
    else:
        content = bytearray(content[:directory] * 2 + content[directory:])
    return bytes(content), f"archive {way}"


def _form(forged, rng):
    """Write all arrays in their smallest forms, and change what describes them, or their bytes."""
    try:
        arrays = [from_npy(payload) for payload in forged.payloads]
    except ValueError:  # another change has damaged them
        return "nothing: an array is damaged already"
    packed = Packed.of(arrays)
    document = {**forged.document, "arrays": packed.listed, "format": _one_of([4, 5, 5, 5], rng)}
    entries = {name: bytearray(payload) for name, payload, _ in packed.entries}
    described = [one for one in _mappings(packed.listed) if one]
    way = int(rng.integers(4))
    if way == 0:  # a description
        one = _one_of([one for one in described if "form" in one] or described, rng)
        key = _one_of(sorted(one), rng)
        forms = ["plain", "planes", "levels", "same", 0, 1, -1, "C", "F", [], [10**9, 10**9], None]
        one[key] = _one_of(forms, rng)
        note = f"{key} of an array = {one[key]}"
    elif way == 1:  # parts that do not fit each other
        lists = [one["parts"] for one in described if isinstance(one.get("parts"), list)]
        parts = _one_of(lists, rng)
        first, second = rng.integers(len(parts), size=2)
        parts[first], parts[second] = parts[second], parts[first]
        note = f"parts {first} and {second} swapped"
    else:  # bytes, signed again
        name = _one_of(sorted(entries), rng)
        for _ in range(int(rng.integers(1, 4))):
            entries[name][int(rng.integers(len(entries[name])))] = int(rng.integers(256))
        if way == 3:
            del entries[name][int(rng.integers(len(entries[name]))) :]
        note = f"bytes of {name}"
    for one, name in _described_entries(packed.listed):
        if name in entries and isinstance(one, dict) and "sha256" in one:
            one |= {"sha256": _digest(entries[name]), "bytes": len(entries[name])}
    text = json.dumps(document).encode()
    deflated = {name for name, _, deflate in packed.entries if deflate}
    first = {"model.json": text, "sha256": _digest(text).encode()}
    return zipped(first | entries, deflated), note


def _described_entries(listed):
    """Yield the descriptions of the entries of an archive, with their names."""
    for number, one in enumerate(listed):
        yield one, f"{number}.npy"
        parts = one.get("parts")
        for place, part in enumerate(parts if isinstance(parts, list) else []):
            yield part, f"{number}-{place}.npy"


WAYS = [_value] * 6 + [_array_value] * 4 + [_array_shape] * 4 + [_array_type] * 2 + [_reference] * 3
WAYS += [_class, _swap, _missing, _extra, _fact, _array_bytes, _text, _archive, _form, _form]
"""The changes, common ones more than once."""


def _other(forged, rng, before):
    """Return another value, in the neighborhood of a number or of any kind."""
    if isinstance(before, int | float) and not isinstance(before, bool) and rng.random() < 0.5:
        factor = _one_of([-1, 0, 2, 1e6, 1e-6, 1e200], rng)
        changed = before * factor if rng.random() < 0.5 else before + int(rng.integers(-3, 4))
        return changed if abs(changed) < 1e308 else -1
    choice = rng.random()
    if choice < 0.4:
        return _one_of(PLAIN, rng)
    if choice < 0.6:
        return {"$object": int(rng.integers(len(forged.nodes)))}
    if choice < 0.8:
        return {"$array": int(rng.integers(max(1, len(forged.payloads))))}
    return _one_of(SPECIAL, rng)


def _place(nodes, rng):
    """Return a container within the states of objects, a key of it, and its name."""
    node = _one_of([one for one in nodes if one["state"]], rng)
    holder, key = node["state"], _one_of(sorted(node["state"]), rng)
    place = f"{node['class']}.{key}"
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.5:
        holder = holder[key]
        keys = sorted(holder) if isinstance(holder, dict) else range(len(holder))
        key = _one_of(list(keys), rng)
        place += f"[{key!r}]"
    return holder, key, place


def _mappings(value):
    """Yield all mappings within a value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _mappings(one)


def _some_array(forged, rng):
    number = _one_of(range(len(forged.payloads)), rng)
    try:
        return number, forged.array(number)
    except Exception:  # noqa: BLE001 - its bytes were changed before
        return number, np.zeros(3)


class NothingLeftError(Exception):
    """Raised if there is nothing of a kind to change."""


def _one_of(things, rng):
    if not things:
        raise NothingLeftError
    return things[int(rng.integers(len(things)))]


def _digest(content):
    return hashlib.sha256(content).hexdigest()
