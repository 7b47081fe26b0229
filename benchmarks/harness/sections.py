"""Generated sections of Markdown files, between two marks."""


def write_section(path, begin, end, content):
    """Replace what is between two marks of a file; the file must have both, once each, in order."""
    text = path.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"{path.name} must have the line {begin!r} and after it {end!r}.")
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")
