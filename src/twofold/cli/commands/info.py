"""``twofold info``: describe a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from twofold.cli.inputs import load_model
from twofold.cli.messages import Messages, listed, table_size
from twofold.cli.methods import AUTO, METHODS
from twofold.cli.options import command, message_options, model_argument

MOST_PARTS: Final = 5
FEWEST_BYTES: Final = 10_000
"""The largest parts of a file, as far as they are large, are listed."""


@command("twofold info flowers.twofold")
@model_argument
@message_options
def info(model: Path, messages: Messages) -> None:
    """Describe a model file.

    The file is read completely: a damaged file is an error.
    """
    from twofold.export.model_files import describe, sizes

    loaded = load_model(model)
    estimator, roles = loaded.core, loaded.roles
    about = describe(model)
    name, names, size = type(estimator).__name__, about["feature_names"], model.stat().st_size
    if loaded.is_table:
        about["parameters"] = {
            key: repr(value) for key, value in estimator.get_params(deep=False).items()
        }
    methods = (key for key, one in METHODS.items() if one.class_name == name)
    method = next(methods, name)
    rows, n_components = estimator.embedding_.shape
    compression = getattr(estimator, "compression_", None)
    rows = rows if compression is None else compression.n_rows
    parts = dict[str, int]()
    for attribute, n_bytes in sizes(model):
        parts[attribute] = parts.get(attribute, 0) + n_bytes
    document = {
        "file": str(model),
        "bytes": size,
        "bytes_of": parts,
        "prototypes": None if compression is None else compression.n_prototypes,
        "method": method,
        "class": name,
        "rows": rows,
        "columns": about["n_features"],
        "feature_names": names,
        "latents": n_components,
        "parameters": about["parameters"],
        "winner": getattr(estimator, "method_", None) if method == AUTO else None,
        "kinds": loaded.kinds,
        "scale": estimator.scale,
        **roles.facts(),
        "versions": about["versions"],
    }
    defaults = {key: repr(one) for key, one in type(estimator)().get_params(deep=False).items()}
    changed = [
        f"{key}={value}" for key, value in about["parameters"].items() if value != defaults.get(key)
    ]
    parameters = f"{listed(changed)}, others by default" if changed else "all by default"
    versions = (f"{package} {number}" for package, number in about["versions"].items())
    lines = [
        ("model", f"{name} (-m {method}), {size / 1e6:.2f} MB"),
        ("fitted to", table_size((rows, about["n_features"]))),
        ("latents", str(n_components)),
        ("columns", "without names" if names is None else listed(names)),
        ("parameters", parameters),
        ("written by", listed(versions)),
    ]
    largest = sorted(parts.items(), key=lambda one: -one[1])[:MOST_PARTS]
    large = [f"{key} {n_bytes / 1e6:.2f} MB" for key, n_bytes in largest if n_bytes >= FEWEST_BYTES]
    lines += [("sizes", ", ".join(large))] if large else []
    if compression is not None:
        lines.insert(2, ("compressed", str(compression)))
    if loaded.kinds is not None:
        by_kind: dict[str, list[str]] = {}
        for column, kind in loaded.kinds.items():
            by_kind.setdefault(kind, []).append(column)
        each = [(kind, listed(columns)) for kind, columns in by_kind.items()]
        at = [key for key, _ in lines].index("columns")
        lines[at : at + 1] = [*each, ("units", "each column has the same weight")]
    elif estimator.scale is not None:
        lines.insert(
            [key for key, _ in lines].index("columns") + 1, ("scale", str(estimator.scale))
        )
    for role, columns in (("label", roles.label), ("id", roles.id)):
        lines += [(role, columns)] if columns is not None else []
    lines += [("left out", listed(roles.left_out))] if roles.left_out else []
    if method == AUTO:
        best = f"{document['winner']} ({type(estimator._unwrapped).__name__})"
        lines.insert(1, ("winner", best))
    messages.result(document, lines)
