"""Tables of counts, such as reads of genes in cells or words in documents."""

from twofold.counts.log_counts import LogCounts

__all__ = ["LogCounts"]
