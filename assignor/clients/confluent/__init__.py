"""confluent-kafka: membership and records joined into one consumer (``StreamsConsumer``).

librdkafka has no place for an assignor of one's own (its issue 2284), so two clients share the work: kafka-python is
the member of the group (`membership`), librdkafka reads the records (`records`). One configuration serves both
(`settings`, `security`), and to the user it is one consumer (`consumer`).
"""

from assignor.clients.confluent.consumer import StreamsConsumer

__all__ = ["StreamsConsumer"]
