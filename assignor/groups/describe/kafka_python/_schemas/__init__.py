"""Kafka's own schemas (4.3.1, Apache License 2.0) of requests that kafka-python lacks, from kafka-clients.jar."""
