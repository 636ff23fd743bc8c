"""The records that group coordinators write into ``__consumer_offsets``: bytes to dicts with Kafka's field names.

``decode_key`` / ``decode_value`` and their inverses are for one record, and ``RECORD_TYPES`` has the fields of
each type. Userdata inside a record stays bytes; ``codec.consumer_protocol`` decodes it.
"""

from streams_assignor.codec.coordinator._records import (
    RecordKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    record_type_number,
)
from streams_assignor.codec.coordinator._tables import RECORD_TYPES, RecordType

__all__ = [
    "RECORD_TYPES",
    "RecordKey",
    "RecordType",
    "decode_key",
    "decode_value",
    "encode_key",
    "encode_value",
    "record_type_number",
]
