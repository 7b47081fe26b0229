"""One page of HTML from results, without network or scripts, with its pictures inside.

It has a light and a dark form and fits a phone. All text from results passes through `html.escape`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.papers.pictures import as_data_uri
from benchmarks.papers.verdict import COLUMNS, MARGIN, is_number

STYLE = Path(__file__).with_name("report.css")

UNITS = {"cores": "{} cores", "memory_gb": "{} GB of memory"}
COUNTED = ("met", "better", "below", "no figure", "absent", "failed")
TITLES = {"literal": "by the paper's protocol", "default": "by our defaults"}

LEGEND = (
    ("met", f"as good as the paper's figure, within {MARGIN:.0%} or the margin shown after ±"),
    ("better", "better than the paper's figure by more than that"),
    ("below", "worse than the paper's figure by more than that"),
)


def report_page(results: dict[str, Any], folder: Path) -> str:
    """Return the page of results, from `run_papers` or read from ``results.json``.

    The folder holds the pictures.
    """
    papers = results["papers"]
    style = STYLE.read_text(encoding="utf-8")
    body = "\n".join(
        [
            _head(results),
            _summary(papers),
            *(_paper(name, paper, folder) for name, paper in papers.items()),
        ]
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>twofold: the papers' numbers beside ours</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _head(results: dict[str, Any]) -> str:
    versions, machine = dict(results["versions"]), results["machine"]
    own = versions.pop("twofold", "unknown")
    commit = f", commit {results['commit']}" if results["commit"] else ""
    kind = "quick: fewer seeds, repeats and iterations" if results["quick"] else "full"
    facts = {
        "twofold": f"{own}{commit}",
        "run": f"{kind}; {_duration(results.get('seconds', 0.0))}, started {results['started']}",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "machine": ", ".join(UNITS.get(key, "{}").format(one) for key, one in machine.items()),
    }
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    legend = " ".join(f"{_chip(word)} {escape(text)};" for word, text in LEGEND)
    return f"""<header>
<h1>The papers' numbers beside ours</h1>
<p>Experiments of the papers that <strong>twofold</strong> implements, run by
<code>python -m benchmarks.papers</code>.</p>
<dl class="facts">{listed}</dl>
<p><small>A row has the paper's figure, ours by the paper's protocol (its settings, optimizer and
number of steps), and ours by our defaults, except for what the row names. Verdicts are computed
from the numbers: {legend} nothing if there is no figure to compare with. If the paper has words and
no figure, the row names the number that stands for them, and the verdict is <em>met</em> or
<em>below</em>.</small></p>
</header>"""


def _summary(papers: dict[str, Any]) -> str:
    counted = {
        (name, column): counts(paper["experiments"].values(), column)
        for name, paper in papers.items()
        for column in COLUMNS
    }
    words = [word for word in COUNTED if any(found[word] for found in counted.values())]
    head = "".join(f'<th class="count" scope="col">{escape(word)}</th>' for word in words)
    lines = []
    for (name, column), found in counted.items():
        seconds = sum(one["seconds"] for one in papers[name]["experiments"].values())
        cells = "".join(f'<td class="count">{found[word] or ""}</td>' for word in words)
        first = column == COLUMNS[0]
        link = f'<a href="#{escape(name)}">{escape(name)}</a>' if first else ""
        lines.append(
            f'<tr><th scope="row">{link}</th><td>{escape(TITLES[column])}</td>{cells}'
            f'<td class="count">{f"{seconds:.0f}" if first else ""}</td></tr>'
        )
    return f"""<div class="card"><table class="summary">
<thead><tr><th scope="col">paper</th><th scope="col">ours</th>{head}
<th class="count" scope="col">seconds</th></tr></thead>
<tbody>{"".join(lines)}</tbody>
</table></div>"""


def counts(experiments: Iterable[dict[str, Any]], column: str) -> Counter[str]:
    """Count the verdicts of one of our columns, and experiments that did not run."""
    found: Counter[str] = Counter()
    for one in experiments:
        if one["status"] != "done":
            found[one["status"]] += 1
        for row in one["rows"]:
            if row[column] is not None or row["verdicts"][column]:
                word = row["verdicts"][column] or "no figure"
                found["below" if word == "no number" else word] += 1
    return found


def _paper(name: str, paper: dict[str, Any], folder: Path) -> str:
    bodies = "\n".join(_experiment(one) for one in paper["experiments"].values())
    missing = "".join(f"<li>{escape(sentence)}</li>" for sentence in paper["missing"])
    if missing:
        missing = f"<p>What cannot be repeated or compared:</p><ul>{missing}</ul>"
    heads = "".join(f'<th scope="col" class="here">{TITLES[column]}</th>' for column in COLUMNS)
    pictures = "".join(
        _picture(picture, one["title"], folder)
        for one in paper["experiments"].values()
        for picture in one["pictures"]
    )
    return f"""<section>
<h2 id="{escape(name)}">{escape(paper["citation"])}</h2>
<p class="soft">{escape(paper["method"])}</p>
{missing}
<div class="card"><table class="quantities">
<thead><tr><th scope="col">experiment</th><th scope="col" class="paper">the paper</th>
{heads}<th scope="col">in the same run</th>
<th scope="col" class="seconds">seconds</th></tr></thead>
{bodies}
</table></div>
<div class="pictures">{pictures}</div>
</section>"""


def _experiment(one: dict[str, Any]) -> str:
    title = f'{escape(one["title"])} <span class="where">{escape(one["where"])}</span>'
    seconds = f'<td class="seconds" data-label="seconds">{one["seconds"]:.1f}</td>'
    lines = [
        f'<tr class="experiment"><th scope="rowgroup" colspan="5">{title}</th>{seconds}</tr>',
        f'<tr class="reports"><td colspan="6">{escape(one["reports"])}{_conditions(one)}</td></tr>',
    ]
    if one["status"] != "done":
        empty = '<td class="empty"></td>'
        chip = f'<td data-label="status">{_chip(one["status"])}</td>'
        error = f'<th scope="row">{escape(one["error"])}</th>'
        lines.append(f"<tr>{error}{empty}{chip}{3 * empty}</tr>")
    lines += [_row(row, quick=bool(one["quick"])) for row in one["rows"]]
    return f"<tbody>{''.join(lines)}</tbody>"


def _conditions(one: dict[str, Any]) -> str:
    """Return the conditions of an experiment: quick form, seeds, warnings."""
    said = []
    if one["quick"]:
        said.append(f"Measured quickly: {one['quick']}.")
    seeds = one["seeds"]
    if seeds:
        shown = ", ".join(map(str, seeds[:10])) + (", ..." if len(seeds) > 10 else "")
        said.append(f"Seed{'s' if len(seeds) > 1 else ''} {shown}.")
    said += [f"Warned {count} x: {text}" for text, count in one["warnings"].items()]
    return f"<small>{escape(' '.join(said))}</small>" if said else ""


def _row(row: dict[str, Any], *, quick: bool) -> str:
    form = row["form"]
    paper = _cell(row["paper"], form)
    if row["bound"] is not None:
        sign = {"lower": "&le;", "higher": "&ge;"}.get(row["better"], "")
        paper += f"<small>read as {sign} {escape(format(row['bound'], form))}</small>"
    elif row["margin"] is not None and is_number(row["paper"]):
        paper += f"<small>± {row['margin']:.2g}</small>"
    note = f"<small>{escape(row['note'])}</small>" if row["note"] else ""
    ours = (
        _labelled(TITLES[column], _ours(row, column, quick=quick), "here") for column in COLUMNS
    )
    return (
        f'<tr><th scope="row">{escape(row["quantity"])}{note}</th>'
        + _labelled("the paper", paper, "paper")
        + "".join(ours)
        + _labelled("same run", escape(row["beside"]), "")
        + '<td class="seconds empty"></td></tr>'
    )


def _ours(row: dict[str, Any], column: str, *, quick: bool) -> str:
    """Return one of our figures with its verdict, marked if it was measured quickly."""
    word = row["verdicts"][column]
    shown = "not a number" if word == "no number" else _cell(row[column], row["form"])
    if not shown:
        return ""
    mark = ' <span class="quick">quick</span>' if quick else ""
    return f"{shown}{mark} {_chip(word) if word else ''}"


def _labelled(label: str, content: str, kind: str) -> str:
    kinds = f"{kind} empty" if not content else kind
    content = content and f"<span>{content}</span>"
    return f'<td class="{kinds}" data-label="{label}">{content}</td>'


def _cell(value: Any, form: str) -> str:
    """Return a cell: a formatted number, words unchanged, or nothing for None."""
    if value is None:
        return ""
    if not is_number(value):
        return escape(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return "not a number"
    if isinstance(value, int):
        return f'<span class="number">{value:,}</span>'
    return f'<span class="number">{escape(format(value, form))}</span>'


def _chip(word: str) -> str:
    return f'<span class="chip {escape(word.replace(" ", "-"))}">{escape(word)}</span>'


def _picture(picture: dict[str, str], title: str, folder: Path) -> str:
    uri, wide = as_data_uri(folder / picture["file"])
    kind = ' class="wide"' if wide else ""
    caption = escape(f"{title}: {picture['caption']}")
    return (
        f'<figure{kind}><img src="{uri}" alt="{caption}" loading="lazy">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
