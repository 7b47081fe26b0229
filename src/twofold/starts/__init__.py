"""Initial latents: embeddings by name, their scales, and a coarse map for many rows."""
