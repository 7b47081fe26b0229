"""The paper for JOSS: its figures are those of the records, and its form is what is asked for."""

import re

import pytest

from benchmarks import paper_figures
from benchmarks.harness import ROOT, kept

BIB = ROOT / "paper" / "paper.bib"


@pytest.fixture(scope="module")
def text():
    return paper_figures.PAPER.read_text(encoding="utf-8")


def test_the_figures_are_those_of_the_records(text):
    """If records change: python -m benchmarks.paper_figures."""
    shown = text.split(paper_figures.BEGIN)[1].split(paper_figures.END)[0].strip("\n")
    records = kept.read(paper_figures.RIVALS), kept.read(paper_figures.IMPUTED)
    assert shown == paper_figures.section(*records)


def test_the_sentence_on_gaps_counts():
    def cell(pattern, method, rmse, status="ok"):
        return {"pattern": pattern, "method": method, "rmse": rmse, "status": status}

    cells = [cell("a", "UKR", 1.0), cell("a", "UKR", 3.0), cell("a", "mean", 4.0)]
    cells += [cell("b", "UKR", 3.0), cell("b", "mean", 2.0), cell("b", "slow", 0.0, "stopped")]
    sentence = paper_figures.gaps({"set": {"figures": {"cells": cells}}})
    assert "removed from 1 data sets in 2 patterns" in sentence
    assert "on 1 of the 2, at 0.50 to 1.50 times" in sentence


def test_the_length_and_the_sections(text):
    yaml = pytest.importorskip("yaml")
    _, head, body = text.split("---\n", 2)
    about = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(about)
    titles = re.findall(r"^# (.+)$", body, re.MULTILINE)
    assert titles[:3] == ["Summary", "Statement of need", "State of the field"]
    assert titles[-1] == "References"
    words = len(re.sub(r"<!--.*?-->|^\|.*$", "", body, flags=re.DOTALL | re.MULTILINE).split())
    assert 750 <= words <= 1750


def test_every_reference_is_cited_and_every_citation_is_a_reference(text):
    entries = re.findall(r"^@\w+\{(\w+),", BIB.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@([a-z]+\d{4}\w+)", text)) == set(entries)
