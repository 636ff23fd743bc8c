"""Feature versions of a cluster of brokers (KIP-584, KIP-778): a model, a client and Kafka's feature tool.

``model`` is pure. ``client`` talks to a cluster through kafka-python. ``cli`` is the command ``features``.
"""
