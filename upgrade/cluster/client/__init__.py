"""A client of a live cluster, on kafka-python."""
