"""Runs partitions on Spark: finds Java, starts a session and computes batches. Only this package imports PySpark."""
