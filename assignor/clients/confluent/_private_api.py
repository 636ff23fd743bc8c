"""All behaviour of confluent-kafka and librdkafka (2.x) that is private or undocumented, and nothing else.

The private names of kafka-python are in ``clients.kafka_python``, those of librdkafka's mock cluster in
``clients.mock_cluster``. Error codes such as ``KafkaError._TIMED_OUT`` are documented despite the underscore.
"""

from __future__ import annotations

import re
import sys
from typing import Final

from confluent_kafka import KafkaError

from streams_assignor.clients.adapter import MemberGeneration

_MAGIC: Final = b"CGMDv2:"
_END: Final = b"\x00"
_WITHOUT_INSTANCE, _WITH_INSTANCE = b"\x01", b"\x00"

# With TLS 1.3 a broker checks a client's certificate after the handshake is complete for the client, so librdkafka
# reports a lost connection, and the reason only as text. It may do the same for a broker's certificate.
_TLS_ALERT: Final = re.compile(r"SSL routines:.*( alert .*(certificate|unknown ca)|certificate verify failed)")


def encode_group_metadata(group: str, generation: MemberGeneration, instance_id: str | None) -> bytes:
    r"""Return what ``Producer.send_offsets_to_transaction`` accepts from a consumer (KIP-447).

    The layout is private to librdkafka (rdkafka_cgrp.c, "CGMDv2"); a test compares it with that of a plain
    ``Consumer``. The number is in the byte order of the machine, as the bytes never leave it.

    >>> encode_group_metadata("billing", MemberGeneration(7, "m"), None)[11:]
    b'billing\x00m\x00\x01'
    >>> encode_group_metadata("billing", MemberGeneration(7, "m"), "one")[11:]
    b'billing\x00m\x00\x00one\x00'
    """
    number = generation.generation_id.to_bytes(4, sys.byteorder, signed=True)
    instance = _WITHOUT_INSTANCE if instance_id is None else _WITH_INSTANCE + instance_id.encode() + _END
    return _MAGIC + number + group.encode() + _END + generation.member_id.encode() + _END + instance


def is_tls_refusal(error: KafkaError) -> bool:
    """Whether one side of a TLS connection has refused the certificate of the other, by the text of the error."""
    return _TLS_ALERT.search(error.str()) is not None
