"""The sections of docs/peers.md, from the records."""

from benchmarks.harness.kept import origin
from benchmarks.peers.adapters import COLUMNS, PEERS
from benchmarks.peers.plugin import FAILED, NOT_APPLICABLE, PASSED, UNTOUCHED
from benchmarks.peers.tutorials import QUICK_ROWS

NOTHING = "Nothing has been published yet."
TUTORIALS = "tutorials"


def section(parts):
    """Return all tables."""
    if not parts:
        return NOTHING
    written = []
    tests = {name: record for name, record in parts.items() if name in COLUMNS}
    if tests:
        first = next(iter(tests.values()))
        version = first["versions"]["scikit-learn"]
        said = origin("python -m benchmarks.peers", first)
        written += [f"## scikit-learn's tests\n\n{said} scikit-learn {version}.", _summary(tests)]
        ran = {name.split(",")[0] for name in tests}
        written += [_of_peer(peer, tests) for peer in PEERS if peer in ran]
    if TUTORIALS in parts:
        written.append(_tutorials(parts[TUTORIALS]))
    return "\n\n".join(written)


def _summary(tests):
    lines = [
        "| tests of | in its place | pass | fail, for a reason | not applicable | passing cases |",
        "|---" * 6 + "|",
    ]
    for name, record in tests.items():
        found = record["figures"]
        counts = [sum(one["outcome"] == kind for one in found) for kind in _KINDS]
        cases = sum(one["cases"][PASSED] for one in found)
        shown = " | ".join(str(count) for count in (*counts, cases))
        lines.append(f"| {COLUMNS[name].peer} | `{COLUMNS[name].label}` | {shown} |")
    return "\n".join(lines)


_KINDS = (PASSED, FAILED, NOT_APPLICABLE)


def _of_peer(peer, tests):
    columns = {name: record["figures"] for name, record in tests.items() if name.startswith(peer)}
    by_test = {}
    for name, found in columns.items():
        for one in found:
            by_test.setdefault(one["test"], {})[name] = one
    untouched = [
        test
        for test, row in by_test.items()
        if all(one["reason"] == UNTOUCHED for one in row.values())
    ]
    heads = [f"`{COLUMNS[name].label}`" for name in columns]
    lines = [f"| test | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for test, row in by_test.items():
        if test not in untouched:
            cells = [_cell(row[name]) if name in row else "" for name in columns]
            lines.append(f"| `{test}` | {' | '.join(cells)} |")
    written = [f"### {PEERS[peer][0].__name__}", "\n".join(lines)]
    if untouched:
        listed = ", ".join(f"`{test}`" for test in untouched)
        written.append(
            f"Not applicable, because they test functions of the peer's module: {listed}."
        )
    return "\n\n".join(written)


def _cell(one):
    cases = one["cases"]
    ran = cases[PASSED] + cases[FAILED]
    count = f", {cases[PASSED]} of {ran} cases" if ran > 1 else ""
    if one["outcome"] == PASSED:
        return f"**passes**{count}"
    return f"{one['outcome']}{count}: {one['reason'].rstrip('.')}"


def _tutorials(record):
    said = origin("python -m benchmarks.peers tutorials", record)
    lines = [
        "| page | there | here | outcome | figures here | figures there |",
        "|---" * 6 + "|",
    ]
    for one in record["figures"]:
        cells = [f"{one['peer']}, {one['page']}", one["there"], one["here"], _outcome(one)]
        cells += [_figures(one["ours"]), _figures(one["theirs"]) or one["their_error"] or ""]
        lines.append(f"| {' | '.join(cells)} |")
    few = f", and {QUICK_ROWS} rows of the digits" if record.get("quick") else ""
    about = (
        f"{said} The steps of their documentation in scripts of ours, on data of scikit-learn, "
        f"with default settings where the tutorial has no others{few}."
    )
    return "\n\n".join(["## Tutorials of umap-learn and openTSNE", about, "\n".join(lines)])


def _outcome(one):
    return one["reason"] or ("works" if one["error"] is None else f"**fails**: {one['error']}")


def _figures(found):
    return ", ".join(f"{key} {value:.3g}" for key, value in (found or {}).items())
