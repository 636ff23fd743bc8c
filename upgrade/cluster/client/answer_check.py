"""A check of decoded answers: kafka-python (3.0.12) decodes null in fields that Kafka's schema does not let be null."""

from __future__ import annotations

from typing import Any


def check_answer(answer: Any) -> None:
    """Check an answer of kafka-python, and what is in it.

    Raises:
        ValueError: A field is null that its schema requires; the message names it.
    """
    _check(answer, answer.fields.values(), answer.version, type(answer).__name__)


def _check(value: Any, fields: Any, version: int, place: str) -> None:
    for field in fields:
        if not field.for_version_q(version):
            continue
        content, inside = getattr(value, field.name), f"{place}.{field.name}"
        if content is None:
            if _can_be_null(field) and not field.nullable_for_version_q(version):
                raise ValueError(f"expected a value in {inside}, got null")
        elif field.is_array() and None in content:
            raise ValueError(f"expected no null in {inside}")
        elif field.is_struct() or field.is_struct_array():
            for struct in [content] if field.is_struct() else content:
                _check(struct, field.fields.values(), version, inside)


def _can_be_null(field: Any) -> bool:
    """Return whether the bytes of a field have a form for null; kafka-python shows unknown operations as None, too."""
    return field.type_str in {"string", "bytes"} or field.is_array() or field.is_struct()
