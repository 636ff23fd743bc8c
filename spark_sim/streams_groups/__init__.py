"""Streams groups (KIP-1071): the side of the brokers."""
