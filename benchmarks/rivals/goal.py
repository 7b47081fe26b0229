"""Compare `AutoTwoWay()` with all rivals that decode, on every set.

The best rival on a set has the lowest error on held-out rows; of equal errors the faster one
counts. The codebook error is compared with the lowest one of all rivals, which may be another
rival. Reference lines have no bottleneck and are never rivals.
"""

from dataclasses import dataclass

from benchmarks.rivals.summary import Row
from twofold.numerics.codebooks import sizes_of_codebooks

AUTOMATIC = "AutoTwoWay()"
N_CODES = 64
"""Size of the codebooks that are compared; 16 if a set has too few rows for 64."""
MARGIN = 0.05

BOTH = "lowest on both"
ERROR = "lowest error"
CODEBOOK = "lowest codebook error"
NEAR = "within 5 %"
BEHIND = "behind"
ALONE = "no comparison"


@dataclass(frozen=True)
class Verdict:
    """Our result on one set, compared with the rivals."""

    data: str
    kind: str
    n_codes: int
    ours: Row | None = None
    """`AutoTwoWay()`."""
    best: Row | None = None
    """Our estimator with the lowest error, be it `AutoTwoWay()` or not."""
    rival: Row | None = None
    """The rival with the lowest error."""
    map_rival: Row | None = None
    """The rival with the lowest codebook error."""

    @property
    def holds(self):
        """Whether our error is near or below the best rival's, or cannot be compared."""
        return self.kind == ALONE or self.is_near

    @property
    def is_near(self):
        """Whether our error is at most 5 % higher than the best rival's."""
        return _is_near(self.ours, self.rival)

    def codebook_error(self, row):
        return row.figures.get(f"codebook_error_{self.n_codes}") if row else None


def verdict(data, rows, n_rows):
    """Compare `AutoTwoWay()` with the rivals on a set.

    Parameters
    ----------
    data : str
        The set's name.
    rows : sequence of Row
        All methods on it; those without a held-out error are ignored.
    n_rows : int
        Number of training rows, which limits the size of the codebooks.
    """
    n_codes = max((k for k in sizes_of_codebooks(n_rows) if k <= N_CODES), default=N_CODES)
    name = f"codebook_error_{n_codes}"
    two_way = [row for row in rows if row.is_two_way]
    theirs = [row for row in two_way if not row.ours]
    ours = next((row for row in rows if row.method == AUTOMATIC), None)
    found = {
        "best": min((row for row in two_way if row.ours), key=_error, default=None),
        "rival": min(theirs, key=_error, default=None),
        "map_rival": min(
            (row for row in theirs if name in row.figures),
            key=lambda row: row.figures[name],
            default=None,
        ),
    }
    return Verdict(data, _kind(ours, found, name), n_codes, ours, **found)


def _kind(ours, found, name):
    rival, map_rival = found["rival"], found["map_rival"]
    if ours is None or rival is None:
        return ALONE
    if not ours.is_two_way:
        return BEHIND
    codebook = (
        map_rival is not None
        and name in ours.figures
        and ours.figures[name] < map_rival.figures[name]
    )
    if ours.error < rival.error:
        return BOTH if codebook else ERROR
    if codebook:
        return CODEBOOK
    return NEAR if _is_near(ours, rival) else BEHIND


def sentence(v):
    """Return a verdict as a line of text."""
    parts = [f"{v.data}: {v.kind}"]
    if v.ours is not None:
        parts.append(f"{AUTOMATIC} {_figures(v, v.ours)}")
    elif v.best is not None:
        parts.append(f"our best {v.best.method} {_figures(v, v.best)}")
    if v.rival is None:
        parts.append("no rival has a held-out error")
    else:
        parts.append(f"best rival {v.rival.method} {_figures(v, v.rival)}")
    return "; ".join(parts)


def count(verdicts):
    """Return a sentence that says on how many sets `AutoTwoWay()` is ahead."""
    judged = [v for v in verdicts if v.kind != ALONE]
    if not judged:
        return f"No set compares `{AUTOMATIC}` with a rival."
    error, codebook, both = (
        sum(v.kind in kinds for v in judged) for kinds in ((BOTH, ERROR), (BOTH, CODEBOOK), (BOTH,))
    )
    near = sum(v.is_near for v in judged)
    return (
        f"Of {len(judged)} sets, `{AUTOMATIC}` has a lower held-out error than every rival with a "
        f"decoder on {error}, a lower codebook error on {codebook}, and both on {both}. On {near} "
        f"its held-out error is lower or at most {100 * MARGIN:g} % higher than the best rival's."
    )


def _is_near(ours, rival):
    if ours is None or rival is None or ours.error is None:
        return False
    return ours.error <= (1 + MARGIN) * rival.error


def _error(row):
    return row.error, row.seconds


def _figures(v, row):
    if not row.is_two_way:
        return f"has no result ({row.note or row.status})"
    text = f"{row.error:.3g}"
    codebook = v.codebook_error(row)
    if codebook is not None:
        text += f", codebook {codebook:.3g},"
    return f"{text} in {row.seconds:.3g} s"
