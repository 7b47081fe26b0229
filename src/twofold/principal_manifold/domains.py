r"""Latent domains: boxes, circles and their products, where principal manifolds live.

A domain is ``[-1, 1]`` in every dimension, or a box with other sides. A dimension may be *wrapped*:
1 is then the same place as -1, and the interval is a circle of circumference 2 (Smola et al. 2001,
Example 9). So a curve may be closed, and a surface be a cylinder or a torus. A domain may also be a
few points (`Points`), and the manifold their images: vector quantization.

References
----------
A. J. Smola, S. Mika, B. Schoelkopf, R. C. Williamson. Regularized principal manifolds.
JMLR 1, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.numerics.validation import check_int
from twofold.protocols import Array

DOMAINS = ("box", "circle", "torus", "cylinder")
PERIOD = 2.0


@dataclass(frozen=True)
class Domain:
    """A product of intervals and circles.

    Parameters
    ----------
    wrapped : tuple of bool
        Which dimensions are circles.
    sides : tuple of float or None, default=None
        Half the length of each dimension; None means 1 for all. A circle has 1.

    Examples
    --------
    Points outside move around a circle, or to the nearest end of an interval:

    >>> import numpy as np
    >>> from twofold.principal_manifold import Domain
    >>> Domain((True,)).into(np.array([[1.25]]))
    array([[-0.75]])
    >>> Domain((False,)).into(np.array([[1.25]]))
    array([[1.]])

    A cylinder, with four places around it and three along it:

    >>> cylinder = Domain((True, False))
    >>> cylinder.n_components, cylinder.grid((4, 3)).shape, cylinder.spacing((4, 3)).tolist()
    (2, (12, 2), [0.5, 1.0])

    A rectangle of twice the length of its height:

    >>> Domain((False, False), sides=(1.0, 0.5)).into(np.array([[0.7, 0.7]]))
    array([[0.7, 0.5]])
    """

    wrapped: tuple[bool, ...]
    sides: tuple[float, ...] | None = None
    is_discrete = False

    def __post_init__(self) -> None:
        flags: object = self.wrapped
        if not (isinstance(flags, tuple | list) and flags) or any(
            not isinstance(flag, bool | np.bool_) for flag in flags
        ):
            raise TypeError(
                f"wrapped={flags!r} must be a tuple of True and False, one for each dimension."
            )
        if self.sides is None:
            return
        if len(self.sides) != len(self.wrapped):
            raise ValueError(
                f"sides={self.sides!r} must have one entry for each of {len(self.wrapped)} "
                "dimensions."
            )
        for side, wrapped in zip(self.sides, self.wrapped, strict=True):
            if not 0.0 < side < np.inf or (wrapped and side != 1.0):
                raise ValueError(
                    f"sides={self.sides!r} must be positive and finite, and 1 for circles."
                )

    @property
    def n_components(self) -> int:
        """The number of dimensions, q."""
        return len(self.wrapped)

    @property
    def ends(self) -> Array:
        """The upper ends (q,) of the dimensions; the lower ones are their negatives.

        Examples
        --------
        >>> from twofold.principal_manifold import Domain
        >>> Domain((False, False), sides=(1.0, 0.5)).ends
        array([1. , 0.5])
        """
        return np.ones(len(self.wrapped)) if self.sides is None else np.array(self.sides)

    def into(self, Z: Array) -> Array:
        """Move points (n, q) into the domain: around circles, to the nearest end of intervals."""
        inside = np.clip(Z, -self.ends, self.ends)
        for column in np.flatnonzero(self.wrapped):
            inside[:, column] = np.mod(Z[:, column] + 1.0, PERIOD) - 1.0
        return inside

    def grid(self, n_nodes: tuple[int, ...]) -> Array:
        """Return a grid (M, q) of equally spaced places; both ends of a circle are one place."""
        axes = [
            np.linspace(-end, end, n, endpoint=not wrapped) if n > 1 else np.zeros(1)
            for n, wrapped, end in zip(n_nodes, self.wrapped, self.ends, strict=True)
        ]
        mesh = np.meshgrid(*axes, indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=1)

    def spacing(self, n_nodes: tuple[int, ...]) -> Array:
        """Return the distances between neighboring places along each dimension (q,)."""
        pieces = [n if wrapped else n - 1 for n, wrapped in zip(n_nodes, self.wrapped, strict=True)]
        return PERIOD * self.ends / np.maximum(pieces, 1)


@dataclass(frozen=True)
class Points:
    """The places 0, 1, ..., k - 1, with nothing between them.

    Parameters
    ----------
    n_points : int
        k.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.principal_manifold import Points
    >>> Points(3).into(np.array([[0.7], [5.0]]))
    array([[1.],
           [2.]])
    >>> Points(3).grid((3,)).ravel(), Points(3).spacing((3,))
    (array([0., 1., 2.]), array([1.]))
    """

    n_points: int
    is_discrete = True

    def __post_init__(self) -> None:
        check_int("n_points", self.n_points)

    wrapped = (False,)
    n_components = 1

    @property
    def ends(self) -> Array:
        """The largest place (1,).

        Examples
        --------
        >>> from twofold.principal_manifold import Points
        >>> Points(5).ends
        array([4.])
        """
        return np.array([self.n_points - 1.0])

    def into(self, Z: Array) -> Array:
        """Return the nearest places."""
        return np.clip(np.rint(Z), 0.0, self.n_points - 1.0)

    def grid(self, n_nodes: tuple[int, ...]) -> Array:  # noqa: ARG002 - always all
        """Return all places (k, 1)."""
        return np.arange(float(self.n_points))[:, None]

    def spacing(self, n_nodes: tuple[int, ...]) -> Array:  # noqa: ARG002
        """Return 1: the distance between neighbors."""
        return np.ones(1)


def resolve_domain(domain: str | Domain | Points, n_components: int) -> Domain | Points:
    """Return the domain of a name, in ``n_components`` dimensions.

    A circle has one dimension, a torus wraps all its dimensions, a cylinder the first.
    """
    if isinstance(domain, Domain | Points):
        if domain.n_components != n_components:
            raise ValueError(
                f"domain={domain!r} has {domain.n_components} dimensions; "
                f"n_components={n_components}."
            )
        return domain
    if domain not in DOMAINS:
        raise ValueError(f"domain={domain!r} must be one of {sorted(DOMAINS)}, a Domain or Points.")
    if domain == "circle" and n_components != 1:
        raise ValueError(f"domain='circle' has one dimension; n_components={n_components}.")
    if domain == "cylinder" and n_components < 2:
        raise ValueError(
            f"domain='cylinder' has two dimensions at least; n_components={n_components}."
        )
    around = {"box": 0, "cylinder": 1}.get(domain, n_components)
    return Domain(tuple(column < around for column in range(n_components)))
