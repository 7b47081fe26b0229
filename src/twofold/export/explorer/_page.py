"""The page as text: markup, style, script, data, and a content security policy."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "arrays.js",
    "numbers.js",
    "decoder.js",
    "encoder.js",
    "colors.js",
    "fields.js",
    "camera.js",
    "contour.js",
    "landscape.js",
    "projection.js",
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
    "panels.js",
    "comparison.js",
    "selection.js",
    "pins.js",
    "tiles.js",
    "why.js",
    "along.js",
    "cards.js",
    "neighbors.js",
    "csv.js",
    "newrows.js",
    "extras.js",
    "search.js",
    "lasso.js",
    "filters.js",
    "charts.js",
    "filterpanel.js",
    "compact.js",
    "link.js",
    "finding.js",
    "legend.js",
    "feature_choice.js",
    "save.js",
    "input.js",
    "explorer.js",
)
"""In the order of the page; each uses those before it."""

STYLES = ("explorer.css", "extras.css", "finding.css")


@dataclass(frozen=True)
class Host:
    """What pages of a notebook or of a server contain and may do besides those of a file."""

    scripts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    policy: str = ""


HOSTS: dict[str | None, Host] = {
    None: Host(),
    "widget": Host(("bridge.js",)),
    "server": Host(("served.js",), ("served.css",), "connect-src 'self'; "),
}
"""The page of a file has no code that listens to messages or asks a server."""


def page(title: str, content: dict[str, Any], arrays: list[str], host: str | None = None) -> str:
    """Return the page with plain data ``content`` and packed arrays, by number."""
    of_host = HOSTS[host]
    style = "\n".join(map(_static, (*STYLES, *of_host.styles)))
    names = (*SCRIPTS[:-1], *of_host.scripts, SCRIPTS[-1])
    script = "\n".join(["(() => {", '"use strict";', *map(_static, names), "})();", ""])
    policy = (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; {of_host.policy}"
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
