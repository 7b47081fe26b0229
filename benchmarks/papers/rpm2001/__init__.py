"""Smola et al. (2001): regularized principal manifolds, section 8."""
