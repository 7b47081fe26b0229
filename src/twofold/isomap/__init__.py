"""Isomap on an agglomerated graph, with or without labels (Orsenigo & Vercellis 2012)."""

from twofold.isomap.agglomerative import AgglomerativeIsomap
from twofold.isomap.supervised import SupervisedIsomap

__all__ = ["AgglomerativeIsomap", "SupervisedIsomap"]
