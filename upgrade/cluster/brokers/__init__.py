"""Plans rolling upgrades of Kafka brokers: inter-broker protocol, message format and metadata.version.

``planner`` gives the advice, from the steps in ``zookeeper``, ``zookeeper_migration`` and ``kraft``.
``protocol_versions`` has the values of Kafka's configurations, ``config`` validates them as a broker does at start-up,
``rolling_cluster`` models a cluster in the middle of a roll, and ``drafts`` models two proposals that no release has.
"""
