"""Orsenigo & Vercellis (2012): kernel ridge regression for supervised manifold learning."""
