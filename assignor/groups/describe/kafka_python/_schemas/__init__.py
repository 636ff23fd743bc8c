"""Kafka's own schemas (Apache License 2.0) of requests that kafka-python lacks, from kafka-clients.jar.

Those of streams groups are of 4.4.0, the others of 4.3.1.
"""
