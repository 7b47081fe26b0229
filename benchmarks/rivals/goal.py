"""Check the goal: on every set no rival is both faster and better than our best estimator.

Better means a lower error on held-out rows. Faster means less time to fit, encode and decode. Our
best estimator on a set has the lowest error, however long it takes; of equal errors the faster one
counts. The best rival is chosen in the same way.
"""

from dataclasses import dataclass

from benchmarks.rivals.summary import Row

BOTH = "ahead on both"
ERROR = "ahead on error"
TIME = "ahead on time"
BEHIND = "behind"
ALONE = "alone"


@dataclass(frozen=True)
class Verdict:
    """Our result on one set, compared with the rivals."""

    data: str
    kind: str
    ours: Row | None = None
    rival: Row | None = None
    """The rival with the lowest error."""
    ahead_of_us: tuple[Row, ...] = ()
    """Rivals that are both faster and better than our best."""
    also: tuple[Row, ...] = ()
    """Our other estimators that are faster and better than the best rival."""

    @property
    def holds(self):
        return self.kind != BEHIND


def verdict(data, rows):
    """Compare our results with the rivals' on a set.

    Parameters
    ----------
    data : str
        The set's name.
    rows : sequence of Row
        All methods on it; those without a held-out error are ignored.
    """
    two_way = [row for row in rows if row.is_two_way]
    ours = min((row for row in two_way if row.ours), key=_error, default=None)
    rival = min((row for row in two_way if not row.ours), key=_error, default=None)
    if ours is None:
        return Verdict(data, BEHIND if rival else ALONE, rival=rival)
    if rival is None:
        return Verdict(data, ALONE, ours)
    ahead_of_us = tuple(row for row in two_way if not row.ours and _beats(row, ours))
    also = tuple(row for row in two_way if row.ours and row is not ours and _beats(row, rival))
    if ahead_of_us:
        kind = BEHIND
    elif _beats(ours, rival):
        kind = BOTH
    else:
        kind = ERROR if ours.error < rival.error else TIME
    return Verdict(data, kind, ours, rival, ahead_of_us, also)


def sentence(v):
    """Return a verdict as a line of text."""
    if v.ours is None:
        return f"{v.data}: {v.kind}, none of ours has a held-out error"
    own = f"{v.ours.method} {_figures(v.ours)}"
    if v.rival is None:
        return f"{v.data}: {v.kind}, no rival has a held-out error; {own}"
    if v.kind == BEHIND:
        names = ", ".join(f"{row.method} ({_figures(row)})" for row in v.ahead_of_us)
        are = "are" if len(v.ahead_of_us) > 1 else "is"
        text = f"{v.data}: behind: {names} {are} faster and better than {own}"
    else:
        text = f"{v.data}: {v.kind}: {own}; best rival {v.rival.method} {_figures(v.rival)}"
    if v.also:
        text += "; ahead of the best rival on both: " + ", ".join(row.method for row in v.also)
    return text


def count(verdicts):
    """Return a sentence that says on how many sets the goal is reached."""
    judged = [v for v in verdicts if v.kind != ALONE]
    holds, both = (sum(map(test, judged)) for test in (_holds, _on_both))
    return (
        f"On {holds} of {len(judged)} sets no rival is both faster and better than our best "
        "estimator; on "
        f"{both} of {len(judged)} it is ahead of the best rival on both."
    )


def _holds(v):
    return v.holds


def _on_both(v):
    return v.kind == BOTH


def _error(row):
    return row.error, row.seconds


def _beats(one, other):
    return one.error < other.error and one.seconds < other.seconds


def _figures(row):
    return f"{row.error:.3g} in {row.seconds:.3g} s"
