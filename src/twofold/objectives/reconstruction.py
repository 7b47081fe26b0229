r"""The error of unsupervised kernel regression as a function of the latents.

.. math::
   R(Z) = \frac1n \sum_i |x_i - f_i|^2, \qquad
   f_i = \frac{\sum_{j \ne i} k_{ij} x_j}{\sum_{j \ne i} k_{ij} + \varepsilon}, \qquad
   k_{ij} = k(|z_i - z_j|^2)

With each point leaving itself out this is the cross-validation error, Meinicke et al. (2005), Eq. (10);
with ``j = i`` included, the plain reconstruction error, Eq. (8). The data are centred, so the pseudo-count
``epsilon`` is that many observations at their mean: a point that no other reaches is predicted as the
mean instead of 0/0, the objective stays smooth and bounded, and a stray feels a pull back while any
kernel mass is left. ``epsilon = 0`` is the paper's objective; there a point out of everyone's reach
counts as predicted by the mean, and its gradient is zero.

With the masses ``m_i`` and residuals ``r_i = f_i - x_i``, the derivative of ``R`` with respect to ``k_ij`` is

.. math:: Q_{ij} = \frac{2}{n} \, \frac{r_i \cdot (x_j - f_i)}{m_i + \varepsilon},

Eqs. (30)-(31) of the paper, and ``dR/dz_i = 2 sum_j (Q_ij + Q_ji) k'_ij (z_i - z_j)`` is its Eq. (32).

Inner products are all that is needed: with ``C = B - I``, ``f_i = sum_j B_ij x_j`` and a Gram matrix
``G``, the numerators are ``r_i . x_j = (C G)_ij`` and the error is ``sum_ij C_ij (C G)_ij / n``, Eqs. (13)-(14).
That form serves feature spaces, and data of more columns than half their rows, where it is cheaper
(Appendix B).

Notation
--------
===============  ============================
Meinicke et al.  here
===============  ============================
``Y``, ``X``     ``data`` (n, D), ``Z`` (n, q)
``B``            ``weights`` (rows: targets; the paper: columns)
``M``            ``products`` (transposed)
``K(Y)``, ``G``  ``gram``
===============  ============================

References
----------
P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel
regression. IEEE TPAMI 27(9), 2005.
"""
