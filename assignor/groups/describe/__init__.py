"""Groups of a live cluster as raw bytes (``kafka_python``), and the topic of their records (``confluent``).

This package alone of ``groups`` talks to brokers, so it lies above the adapters, whose connections it uses.
"""
