"""Peers' own tests and published examples, with our estimators in the place of theirs.

``python -m benchmarks.peers`` runs the tests of the installed scikit-learn for Isomap, KernelPCA,
TSNE and LocallyLinearEmbedding. Their test modules are imported as they are installed; at run time
the name of the class is bound to an adapter around an estimator of ours (``adapters``, ``plugin``).
It also runs short scripts of ours with the steps of the tutorials of umap-learn and openTSNE
(``tutorials``).
"""
