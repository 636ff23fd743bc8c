"""Forms of text that commands read and write: JSON lines, rebalance metadata as JSON, plain tables."""
