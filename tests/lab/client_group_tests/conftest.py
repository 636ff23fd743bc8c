"""The plugins run in the pytest of a client library's tests, and only there."""

collect_ignore = ["plugins"]
