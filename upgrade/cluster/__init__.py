"""A cluster of brokers: feature versions (KIP-584, KIP-778), broker upgrades, and a client.

``features`` is the pure model of feature versions, ``brokers`` that of broker upgrades, protocol versions and
configuration. ``client`` talks to a cluster through kafka-python. The command is ``cli.features``.
"""
