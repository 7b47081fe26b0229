"""The page as text: markup, style, script, data, and a content security policy."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "arrays.js",
    "decoder.js",
    "colors.js",
    "fields.js",
    "camera.js",
    "contour.js",
    "landscape.js",
    "support.js",
    "row_names.js",
    "point_grid.js",
    "labels.js",
    "in_view.js",
    "density_layer.js",
    "canvas_painter.js",
    "webgl_painter.js",
    "points.js",
    "shapes.js",
    "path.js",
    "selection.js",
    "pins.js",
    "tiles.js",
    "legend.js",
    "feature_choice.js",
    "save.js",
    "input.js",
    "explorer.js",
)
"""In the order of the page; each uses those before it."""


def page(title: str, content: dict[str, Any], arrays: list[str]) -> str:
    """Return the page with plain data ``content`` and packed arrays, by number."""
    style = _static("explorer.css")
    script = "\n".join(["(() => {", '"use strict";', *map(_static, SCRIPTS), "})();", ""])
    policy = (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    blocks = [_data_block("content", "application/json", _json(content))]
    blocks += [
        _data_block(f"array-{number}", "text/plain", text) for number, text in enumerate(arrays)
    ]
    parts = {
        "policy": html.escape(policy, quote=True).replace("&#x27;", "'"),
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": "\n".join(blocks),
    }
    text = _static("explorer.html")
    # One pass: inserted text is not scanned for placeholders.
    pieces = text.split("{{")
    return pieces[0] + "".join(
        parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:])
    )


def _static(name: str) -> str:
    return (files("twofold.export.explorer") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _json(content: dict[str, Any]) -> str:
    """Return JSON in which no tag can begin or end, whatever the labels say."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data_block(name: str, kind: str, text: str) -> str:
    return f'<script type="{kind}" id="{name}">{text}</script>'
