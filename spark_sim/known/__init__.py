"""Bugs that Kafka has had, and how each is found again without a script: see ``bugs`` (the table) and ``finding``."""
