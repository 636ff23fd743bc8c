"""What ``Producer.send_offsets_to_transaction`` takes from a consumer: bytes that name a member and its generation.

They are librdkafka's own and private (rdkafka_cgrp.c, "CGMDv2"): a test compares them with what a plain ``Consumer`` in
the same generation says, and fails when a release changes them.
"""

from __future__ import annotations

import sys
from typing import Final

from attrs import frozen

_MAGIC: Final = b"CGMDv2:"
_END: Final = b"\x00"
_WITHOUT_INSTANCE, _WITH_INSTANCE = b"\x01", b"\x00"


@frozen
class Generation:
    """Who a member is: a broker takes offsets from nobody else (KIP-447)."""

    number: int
    member_id: str


def group_metadata(group: str, generation: Generation, instance_id: str | None) -> bytes:
    r"""Write the bytes; the number is in this machine's byte order, as they never leave it.

    >>> group_metadata("billing", Generation(7, "m"), None)[11:]
    b'billing\x00m\x00\x01'
    >>> group_metadata("billing", Generation(7, "m"), "one")[11:]
    b'billing\x00m\x00\x00one\x00'
    """
    number = generation.number.to_bytes(4, sys.byteorder, signed=True)
    instance = _WITHOUT_INSTANCE if instance_id is None else _WITH_INSTANCE + instance_id.encode() + _END
    return _MAGIC + number + group.encode() + _END + generation.member_id.encode() + _END + instance
