"""Feature versions of a cluster of brokers: the levels that Kafka knows, and a model of who may raise and lower them.

Read ``levels`` for Kafka's own tables, ``dialects`` for where the KIPs and the released Kafka differ, ``cluster`` and
``update`` for the model.
"""
