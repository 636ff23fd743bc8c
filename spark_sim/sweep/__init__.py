"""Runs sweeps: cuts a suite into partitions, computes them on Spark or in local processes, and stores the results."""
