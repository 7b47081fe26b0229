"""Maps that take new rows in, beside maps that are fitted again to all rows."""
