"""``StreamsConsumer``: a member of a Kafka Streams group that reads with librdkafka.

librdkafka accepts no assignor of a user (its issue 2284), so two clients share the work. kafka-python is the member of
the group (`membership`); librdkafka reads the records (`fetcher`). One configuration serves both (`settings`,
`security`), and to the user it is one consumer (`consumer`).

``StreamsConsumer`` is loaded at its first use, because ``groups.describe.confluent`` needs only confluent-kafka.
"""

from typing import TYPE_CHECKING, Any

from streams_assignor.upgrade.extras import importing

if TYPE_CHECKING:
    from streams_assignor.clients.confluent._consumer import ConsumerClosedError, StreamsConsumer

__all__ = ["ConsumerClosedError", "StreamsConsumer"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing("kafka", "confluent_kafka"):
        from streams_assignor.clients.confluent import _consumer

    return getattr(_consumer, name)
