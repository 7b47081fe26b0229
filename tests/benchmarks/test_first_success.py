"""The seconds to a first page: the documentation quotes the record that is kept."""

import json

from benchmarks import first_success


def test_the_page_quotes_the_record():
    record = json.loads(first_success.KEPT.read_text(encoding="utf-8"))
    begin, end = first_success.MARKS
    text = first_success.PAGE.read_text(encoding="utf-8")
    quoted = text.split(begin)[1].split(end)[0].strip()
    assert quoted == first_success.sentence(record)
    total = record["seconds"]["install"]["wall"] + record["seconds"]["explore"]["wall"]
    assert total < 120.0  # as README and start page say


def test_commands_are_timed(tmp_path):
    seconds = first_success.timed(tmp_path, "python3", "-c", "print(sum(range(10)))")
    assert 0.0 < seconds["wall"] < 60.0
    assert seconds["cpu"] > 0.0
