"""The geometry that a fitted model gives its latent space: lengths, areas, faults, and paths.

Use it through the methods ``metric_tensor``, ``stretch`` and ``geodesic`` of a fitted model.
"""

from twofold.manifold_geometry.stretch import Stretch

__all__ = ["Stretch"]
