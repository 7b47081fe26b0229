"""Memisevic & Hinton (2005): spectral gradient descent, Fig. 1 and section 6."""
