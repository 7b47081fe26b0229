"""Published figures, and ours by the same protocols."""
