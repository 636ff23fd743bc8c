"""A demonstration: real member processes on kafka-python, a load generator, and a rolling bounce through upgrades."""
