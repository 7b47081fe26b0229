"""Two-way manifold learning: latent coordinates and both maps."""
