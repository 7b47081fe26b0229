"""A table as the result of a command."""

from __future__ import annotations

from typing import Any

from twofold.cli.tables import Output, Rows
from twofold.cli.talk import Talk
from twofold.cli.words import table_size

__all__ = ["give"]


def give(rows: Rows, output: Output, talk: Talk) -> None:
    """Write a table, or put it into the document where standard output is for JSON."""
    columns = rows.columns()
    document: dict[str, Any] = {"rows": len(rows.values), "columns": list(columns)}
    if talk.as_json and output.is_standard:
        document["table"] = columns
        talk.result(document, [])
        return
    output.write(rows, talk)
    if talk.as_json:
        talk.result(document | {"written": output.target}, [])
    elif not output.is_standard:
        talk.note(f"{output.target}: {table_size((len(rows.values), len(columns)))}")
