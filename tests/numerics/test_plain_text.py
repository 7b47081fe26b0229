import pytest

from twofold.numerics.plain_text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, [red] :smile: \\x", "plain, [red] :smile: \\x"),
        ("\x1b[31m\x9b2J\x07\x7f\0", "\\x1b[31m\\x9b2J\\x07\\x7f\\x00"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("a\nb\u2028c\t", "a\\nb\\u2028c\\t"),
        ("\ud800x\udfff", "\\ud800x\\udfff"),
        ("שלום می\u200cخواهم 👩\u200d👩", "שלום می\u200cخواهم 👩\u200d👩"),
    ],
)
def test_other_characters_are_escaped(text, shown):
    assert printable(text) == shown
    shown.encode()
