"""Adapters: each file here, and no other, may import its client library."""
