"""The documentation's pages on the papers, in Markdown, from the kept records alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from benchmarks.papers.records import Paper
from benchmarks.papers.report import COUNTED, TITLES, counts
from benchmarks.papers.verdict import COLUMNS, is_number

BEGIN = "<!-- papers: written by python -m benchmarks.papers publish; do not edit -->"
END = "<!-- papers: end -->"

Experiments = dict[str, dict[str, Any]]

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|$#~])")


def paper_page(paper: Paper, experiments: Experiments) -> str:
    """Return the page of a paper: every experiment with its table and its pictures."""
    command = f"`python -m benchmarks.papers {paper.name}`"
    parts = [
        f"# {paper.name}",
        BEGIN,
        f"{escaped(paper.citation)}. Here: {escaped(paper.method)}.",
        f"{command} repeats these experiments; [how to read the tables](../reproduce.md).",
        *(_experiment(name, one) for name, one in experiments.items()),
    ]
    if paper.missing:
        sentences = "\n".join(f"* {escaped(' '.join(one.split()))}" for one in paper.missing)
        parts += ["## What cannot be repeated or compared", sentences]
    return "\n\n".join([*parts, END]) + "\n"


def summary_section(kept: dict[str, Experiments]) -> str:
    """Return the counts of all papers, and every row that is below its paper."""
    words = [word for word in COUNTED if any(counts(_all(kept), c)[word] for c in COLUMNS)]
    lines = [_line(["paper", "ours", *words, "minutes", "run"]), "|---" * (len(words) + 4) + "|"]
    for name, experiments in kept.items():
        for column in COLUMNS:
            found = counts(experiments.values(), column)
            first = column == COLUMNS[0]
            minutes = sum(one["seconds"] for one in experiments.values()) / 60.0
            lines.append(
                _line(
                    [
                        f"[{name}](papers/{name}.md)" if first else "",
                        TITLES[column],
                        *(str(found[word] or "") for word in words),
                        f"{minutes:.0f}" if first else "",
                        _runs(experiments) if first else "",
                    ]
                )
            )
    below = [
        [f"[{name}](papers/{name}.md)", one["title"], row["quantity"], *_figures(row)]
        for name, experiments in kept.items()
        for one in experiments.values()
        for row in one["rows"]
        if {"below", "no number"} & set(row["verdicts"].values())
    ]
    head = [_line(["paper", "experiment", "quantity", "the paper", *TITLES.values()]), "|---" * 6]
    table = [_line([a, escaped(b), escaped(c), *rest]) for a, b, c, *rest in below]
    return "\n".join(
        [*lines, "", "### Below the paper's figure", "", head[0], head[1] + "|", *table]
    )


def highlights_section(kept: dict[str, Experiments]) -> str:
    """Return the few rows of each paper that stand for it."""
    parts = []
    for name, experiments in kept.items():
        rows = [
            [one["title"], row["quantity"], *_figures(row), row["beside"]]
            for one in experiments.values()
            for row in one["rows"]
            if row["highlight"]
        ]
        if not rows:
            continue
        head = ["experiment", "quantity", "the paper", *TITLES.values(), "in the same run"]
        table = [_line([escaped(a), escaped(b), *c, escaped(d)]) for a, b, *c, d in rows]
        about = f"[All rows and pictures](papers/{name}.md); {_runs(experiments)}."
        parts += [f"### {name}", about, "\n".join([_line(head), "|---" * 6 + "|", *table])]
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Return text as Markdown that shows it unchanged."""
    return SPECIAL.sub(r"\\\1", text)


def _all(kept: dict[str, Experiments]) -> list[dict[str, Any]]:
    return [one for experiments in kept.values() for one in experiments.values()]


def _runs(experiments: Experiments) -> str:
    """Return commits and dates of the runs, most experiments first."""
    found = Counter(_run(one["run"]) for one in experiments.values())
    return "; ".join(run for run, _ in found.most_common())


def _run(run: dict[str, Any]) -> str:
    return f"commit {run['commit'] or 'unknown'}, {run['started'][:10]}"


def _experiment(name: str, one: dict[str, Any]) -> str:
    seconds = f"{one['seconds']:.0f} s on {one['run']['machine']['cores']} cores"
    facts = [f"Experiment `{name}`, {seconds}, {_run(one['run'])}."]
    if one["quick"]:
        facts.append(f"Measured quickly: {escaped(one['quick'])}.")
    if one["seeds"]:
        facts.append(f"Seeds: {_seeds(one['seeds'])}.")
    if one["error"]:
        facts.append(f"{one['status'].capitalize()}: {escaped(one['error'])}.")
    parts = [
        f"## {escaped(one['title'])}",
        f"*{escaped(one['where'])}.* {escaped(' '.join(one['reports'].split()))}",
        " ".join(facts),
    ]
    if one["rows"]:
        parts.append(_table(one["rows"]))
    for picture in one["pictures"]:
        caption = escaped(f"{one['title']}: {picture['caption']}")
        parts.append(f"![{caption}](../images/papers/{picture['file']})")
    return "\n\n".join(parts)


def _seeds(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table; columns that no row fills are left out, notes follow below."""
    notes: list[str] = []
    full = []
    for row in rows:
        mark = ""
        if row["note"]:
            if row["note"] not in notes:
                notes.append(row["note"])
            mark = f" ({notes.index(row['note']) + 1})"
        full.append([escaped(row["quantity"]) + mark, *_figures(row), escaped(row["beside"])])
    titles = ["quantity", "the paper", *TITLES.values(), "in the same run"]
    used = [0, *(k for k in range(1, len(titles)) if any(cells[k] for cells in full))]
    lines = [_line([titles[k] for k in used]), "|---" * len(used) + "|"]
    lines += [_line([cells[k] for k in used]) for cells in full]
    said = [f"({number}) {escaped(note)}" for number, note in enumerate(notes, 1)]
    return "\n".join(lines) + "".join(f"\n\n{note}" for note in said)


def _figures(row: dict[str, Any]) -> list[str]:
    """Return the cells of the paper's figure and of ours, with verdicts."""
    form = row["form"]
    paper = _value(row["paper"], form)
    if row["bound"] is not None:
        sign = {"lower": "≤", "higher": "≥"}.get(row["better"], "")
        paper += f" (read as {sign} {format(row['bound'], form)})"
    elif row["margin"] is not None and is_number(row["paper"]):
        paper += f" ± {row['margin']:.2g}"
    return [paper, *(_ours(row, column) for column in COLUMNS)]


def _ours(row: dict[str, Any], column: str) -> str:
    word, shown = row["verdicts"][column], _value(row[column], row["form"])
    if word == "no number":
        return "**not a number**"
    if word == "below":
        return f"{shown}, **below**"
    return f"{shown}, {word}" if word else shown


def _value(value: Any, form: str) -> str:
    if value is None:
        return ""
    if not is_number(value):
        return escaped(" ".join(str(value).split()))
    if isinstance(value, int):
        return f"{value:,}"
    return format(value, form) if math.isfinite(value) else "not a number"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
