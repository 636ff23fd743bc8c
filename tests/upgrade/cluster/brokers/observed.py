"""The reactions of real brokers to their configuration at start-up.

`test_config.py` holds our validation against it, `tests/lab/integration/test_broker_upgrade.py` the brokers themselves.
"""

from typing import NamedTuple

from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, ROLES

KRAFT = {ROLES: "broker,controller"}


class Row(NamedTuple):
    """A broker of `release` is started with `settings`; it refuses with this text; None: it starts."""

    release: str
    settings: dict[str, str]
    refusal: str | None = None


def too_new(message_format: str) -> str:
    return f"{LMF} {message_format} can only be used when {IBP} is set to version 0.11.0 or higher"


def invalid(value: str) -> str:
    return f"Invalid value {value} for configuration {IBP}: Version {value} is not a valid version"


# 1.0.0 still compares the versions, all later ones the formats of records that they stand for (KAFKA-6238).
ROWS = (
    Row("1.0.0", {IBP: "0.11.0"}, f"{LMF} 1.0-IV0 cannot be used when {IBP} is set to 0.11.0"),
    Row("1.0.0", {IBP: "0.11.0", LMF: "0.11.0"}),
    Row("1.0.0", {IBP: "0.10.2", LMF: "0.11.0"}, f"{LMF} 0.11.0 cannot be used when {IBP} is set to 0.10.2"),
    Row("1.0.2", {IBP: "0.11.0"}),
    Row("1.0.2", {IBP: "0.10.2"}, too_new("1.0-IV0")),
    Row("2.1.1", {IBP: "0.10.2"}, too_new("2.1-IV2")),
    Row("2.1.1", {IBP: "0.10.2", LMF: "0.11.0"}, too_new("0.11.0")),
    Row("2.1.1", {IBP: "0.10.2", LMF: "0.10.2"}),
    Row("2.1.1", {IBP: "0.11.0", LMF: "1.0"}),
    Row("2.1.1", {IBP: "2.1.0-IV0"}),
    Row("2.1.1", {IBP: "2.2"}, invalid("2.2")),
    Row("2.8.2", {IBP: "0.10.2"}, too_new("2.8-IV1")),
    Row("2.8.2", {IBP: "2.8", LMF: "0.10.0"}),
    Row("2.8.2", {IBP: "3.0"}, invalid("3.0")),
    Row("3.9.2", {IBP: "0.10.2"}, too_new("3.0-IV1")),
    Row("3.9.2", {IBP: "0.10.2", LMF: "0.11.0"}, too_new("0.11.0")),
    Row("3.9.2", {IBP: "0.10.2", LMF: "0.10.2"}),
    Row("3.9.2", {IBP: "3.0", LMF: "0.10.0"}),
    Row("3.9.2", {IBP: "banana"}, invalid("banana")),
    Row("3.9.2", {IBP: "4.0"}, invalid("4.0")),
    Row("3.9.2", {IBP: "2.8", **KRAFT}, f"A non-KRaft version 2.8 given for {IBP}. The minimum version is 3.0-IV1"),
    Row("4.3.1", {}, f'Missing required configuration "{ROLES}" which has no default value.'),
)
