r"""Unsupervised kernel regression: principal surfaces whose parameters are the latents themselves.

The manifold is the Nadaraya-Watson regression of the data on their latents (Meinicke et al. 2005,
Eq. 2). Leaving each point out of its own prediction costs nothing and regularises: minimising the
leave-one-out error (Eq. 10) over the latents keeps kernels overlapping. The learning scheme is that of
section 2.3:

1. candidates from linear, spectral and neighbour embeddings; 2. each at its best scale; 3. the one
of the lowest error is the start; 4. where that is PCA, homotopy: the error is minimised under a
density constraint that is relaxed step by step; 5. the error is minimised without constraint; 6. the
lowest density at a latent bounds the domain of the map.

What departs from the paper, and why:

* L-BFGS where the paper has RPROP (also offered): lower errors in a tenth of the evaluations.
* A neighbour embedding (t-SNE) is among the candidates; on images it starts far below LLE.
* A pseudo-count of observations at the mean in each prediction, and at the end new places for points
  that no other reaches: the error stays smooth and bounded, and no point is left stray.
* The leave-one-out error can be driven below the noise. By default the run ends after a moderate
  number of iterations; with ``validation_fraction`` it ends where held-out rows are rebuilt best.

Notation
--------
=====================  ===========================
Meinicke et al.        here
=====================  ===========================
``y_i``, ``Y``         rows of data
``x_i``, ``X``         ``embedding_``
``R_cv``               ``cv_error_``
``eta``                ``density_threshold_``
=====================  ===========================

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""
