"""Answers about partitions that aiokafka (0.14) reads only in part.

It ignores the error of a whole OffsetFetch answer, and takes what an answer does not name for done: a partition without
a committed offset starts at ``auto_offset_reset``, and a commit of it counts as made. See docs/upstream/aiokafka.md.

``ANSWER_NAMES`` lists the private attributes of its classes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, NoError, UnknownTopicOrPartitionError, for_code

# Modules without documentation.
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.offset import OffsetRequest

ANSWER_NAMES: Final = (
    "AIOKafkaAdminClient._client",
    "AIOKafkaConsumer._client",
    "OffsetCommitRequest._topics",
    "OffsetFetchRequest._partitions",
    "OffsetRequest._topics",
)

ANSWER_CLASSES: Final = (
    AIOKafkaAdminClient,
    AIOKafkaConsumer,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetRequest,
)
_ASKED: Final[Mapping[type, Callable[[Any], Any]]] = {
    OffsetCommitRequest: lambda request: request._topics,
    OffsetFetchRequest: lambda request: request._partitions,
    OffsetRequest: lambda request: request._topics,
}


def check_answers(client: Any) -> None:
    """Make a consumer or an admin client raise the errors of OffsetFetch, and that an answer is not whole.

    ``GroupCoordinator`` looks for its coordinator after an error, and repeats the request if the error is retriable.
    """
    send: Callable[..., Awaitable[Any]] = client._client.send

    @wraps(send)
    async def sending(node_id: Any, request: Any, **settings: Any) -> Any:
        response = await send(node_id, request, **settings)
        if (asked := _ASKED.get(type(request))) is not None:
            if isinstance(request, OffsetFetchRequest):
                _raise_error(response)
            _require_all(asked(request), response)
        return response

    client._client.send = sending


def _raise_error(response: Any) -> None:
    """Raise as Java's ``OffsetFetchResponseHandler`` does: aiokafka passes over topics that a broker does not know."""
    codes = [("the group", getattr(response, "error_code", NoError.errno))]
    for topic, partitions in response.topics:
        codes += [(f"partition {number} of {topic}", code) for number, _, _, code in partitions]
    for place, code in codes:
        if code == UnknownTopicOrPartitionError.errno:
            raise KafkaError(f"the coordinator does not know {place}")
        if code != NoError.errno:
            raise for_code(code)(f"error {code} of {place}")


def _require_all(asked: Any, response: Any) -> None:
    answered = {(topic, row[0]) for topic, rows in response.topics for row in rows}
    for topic, rows in asked:
        for row in rows:
            number = row[0] if isinstance(row, tuple) else row
            if (topic, number) not in answered:
                raise KafkaError(f"expected partition {number} of {topic} in {type(response).__name__}, got none")
