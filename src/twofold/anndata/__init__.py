"""Two-way maps of annotated tables (``anndata.AnnData``), such as counts of genes in cells.

`fit` writes latents, statistics of genes and the model into an AnnData. `transform` places other
cells by the names of their genes, and `decode` returns the genes of any place of the map.
"""

from twofold.anndata.calls import decode, fit, load, transform
from twofold.anndata.gene_map import AnnDataMap

__all__ = ["AnnDataMap", "decode", "fit", "load", "transform"]
