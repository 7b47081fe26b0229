"""Missing cells: what `impute` returns for cells that were removed, beside other imputers.

``tables`` has the sets and removes cells, ``methods`` the imputers (``iterated_pca`` is one of
them), ``measure`` is what one process measures, ``run`` runs all of them, and ``page`` writes the
tables of docs/measured.md.
"""
