"""The steps of a release that a person or a workflow takes: ``cut`` and ``check``.

``python .ci/release.py cut`` dates the section *Unreleased* of the changelog, under the version of
``src/twofold/_version.py``, leaves an empty one above it, and dates ``CITATION.cff``.
``python .ci/release.py check v0.1.0`` fails unless this tag, version, changelog and citation agree.
"""

import argparse
import datetime as dt
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "## Unreleased\n"
NOTHING = "Nothing yet.\n"


def version_of(root: Path) -> str:
    """Return the version that the sources state."""
    text = (root / "src" / "twofold" / "_version.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return str(version)


def cut(root: Path, date: str) -> str:
    """Date the changelog and the citation; return the title of the new section."""
    version = version_of(root)
    title = f"## {version} - {date}"
    changelog, citation = root / "CHANGELOG.md", root / "CITATION.cff"
    text = changelog.read_text(encoding="utf-8")
    if f"\n## {version} - " in text:
        raise SystemExit(f"CHANGELOG.md has a section {version} already: raise the version first.")
    if text.count(UNRELEASED) != 1 or f"{UNRELEASED}\n{NOTHING}" in text:
        raise SystemExit("CHANGELOG.md has nothing under Unreleased: there is nothing to release.")
    changelog.write_text(
        text.replace(UNRELEASED, f"{UNRELEASED}\n{NOTHING}\n{title}\n"), encoding="utf-8"
    )
    cited = citation.read_text(encoding="utf-8")
    cited = re.sub(r"^date-released: .*\n", "", cited, flags=re.MULTILINE)
    line = f"version: {version}\ndate-released: {date}\n"
    cited = re.sub(r"^version: .*\n", line, cited, count=1, flags=re.MULTILINE)
    citation.write_text(cited, encoding="utf-8")
    return title


def disagreements(root: Path, tag: str) -> list[str]:
    """Return what does not agree with a tag, in words."""
    version = version_of(root)
    found = [] if tag == f"v{version}" else [f"the tag is {tag}, the version {version}"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    dates = re.findall(rf"^## {re.escape(version)} - (\S+)$", changelog, re.MULTILINE)
    if len(dates) != 1:
        found.append(f"CHANGELOG.md has {len(dates)} sections {version} with a date")
    cited = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in cited:
        found.append(f"CITATION.cff does not have version {version}")
    if dates and f"\ndate-released: {dates[0]}\n" not in cited:
        found.append(f"CITATION.cff does not have date-released {dates[0]}")
    return found


def main() -> None:
    """Run a step."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    dated = steps.add_parser("cut")
    dated.add_argument("--date", default=dt.date.today().isoformat())
    steps.add_parser("check").add_argument("tag")
    given = parser.parse_args()
    if given.step == "cut":
        sys.stdout.write(cut(ROOT, given.date) + "\n")
        return
    found = disagreements(ROOT, given.tag)
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
