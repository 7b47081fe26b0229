"""Meinicke et al. (2005): principal surfaces from unsupervised kernel regression, section 4."""
