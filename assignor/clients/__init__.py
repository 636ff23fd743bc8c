"""Adapters that attach the Streams assignor to consumers; only these packages import client libraries."""
