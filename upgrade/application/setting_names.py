"""The names of settings: which configurations of Kafka a key may be in, and what others make of Kafka's keys.

A framework or an application may have a key of Kafka below a name of its own (``APP_PROCESSING_GUARANTEE``), and nobody
but it knows whether Kafka gets the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from streams_assignor.upgrade.application.configuration import CONFIGS, keys_of_any_release, releases_with
from streams_assignor.upgrade.application.setting_files import Variant

PREFIXES: Final[Mapping[str, str]] = {
    "main.consumer.": "consumer",
    "restore.consumer.": "consumer",
    "global.consumer.": "consumer",
    "consumer.": "consumer",
    "producer.": "producer",
    "admin.": "admin",
}
"""Java: ``StreamsConfig``; a key without a prefix is one of Streams, and of each client that has it."""
TOPIC: Final = "topic."
OPEN_PREFIXES: Final[Mapping[str, str]] = {
    TOPIC: "a setting of internal topics, which brokers check",
    "client.tag.": "a client tag",
    "config.providers.": "a setting of a config provider",
    "metrics.context.": "a label of metrics",
}
WITHOUT_DEFINITION: Final = frozenset({"internal.task.assignor.class"})
"""Keys that Streams reads, and defines nowhere. Java: ``StreamsConfig.InternalConfig``."""
_WORDS: Final = re.compile(r"[^a-zA-Z0-9.]+|(?<=[a-z])(?=[A-Z])")
"""Separators of words in a name: ``PROCESSING_GUARANTEE``, ``processing-guarantee``, ``processingGuarantee``."""
_MAX_KEY: Final = 200
"""Characters of a key that is looked at more closely: the longest one of Kafka has 57."""
_NAME_IN_VALUE: Final = re.compile(r"(?<![\w.])(?:-D)?(?P<word>[A-Za-z][\w.-]*)(?P<is_key>[\"']?\s*[=:])?")
"""A word of a value, and whether it stands before a value of its own: ``-Dacks=1``, a line of a document."""


def scope(key: str) -> tuple[str, tuple[str, ...]]:
    """Return a key without its prefix, and the configurations that it may be in.

    >>> scope("main.consumer.max.poll.records"), scope("acks")
    (('max.poll.records', ('consumer',)), ('acks', ('streams', 'consumer', 'producer', 'admin')))
    """
    for prefix, config in PREFIXES.items():
        if key.startswith(prefix):
            return key.removeprefix(prefix), (config,)
    return key, CONFIGS


def keys_elsewhere(variant: Variant) -> dict[str, str]:
    """Return the keys of Kafka in the names and values of others: nobody knows whether Kafka gets them.

    >>> keys_elsewhere(Variant(values={"app.kafka.processing.guarantee": "exactly_once"}))
    {'processing.guarantee': 'app.kafka.processing.guarantee'}
    >>> keys_elsewhere(Variant(unread={"APP_PROCESSING_GUARANTEE": 1}))
    {'processing.guarantee': 'APP_PROCESSING_GUARANTEE'}
    >>> keys_elsewhere(Variant(values={"exec": "java -Dprocessing.guarantee=exactly_once -jar app.jar"}))
    {'processing.guarantee': 'exec'}
    """
    keys_by_name: dict[str, str] = {}
    others = {key: value for key, value in variant.values.items() if not is_known(key)}
    for key, value in {**others, **dict.fromkeys(variant.unread, ""), **variant.unread_values}.items():
        for name in filter(None, (key_at_end(key), *_keys_in(value))):
            keys_by_name.setdefault(name, key)
    return keys_by_name


def _keys_in(value: str) -> Iterator[str]:
    """Yield the keys of Kafka that a text names: with a value, or as they are in no other text."""
    for match in _NAME_IN_VALUE.finditer(value):
        name = key_at_end(match["word"].lower())
        if "." in name or match["is_key"]:
            yield name


def is_known(key: str) -> bool:
    """Whether Kafka has a key, with its prefix."""
    plain, configs = scope(key)
    return plain.startswith((*OPEN_PREFIXES, *WITHOUT_DEFINITION)) or any(
        plain in keys_of_any_release(config) for config in configs
    )


def key_at_end(key: str) -> str:
    """Return the key of Kafka with which a name of another form ends; empty if there is none.

    >>> key_at_end("APP_PROCESSING_GUARANTEE"), key_at_end("orders")
    ('processing.guarantee', '')
    """
    if len(key) > _MAX_KEY:
        return ""
    parts = _WORDS.sub(".", key).lower().split(".")
    ends = (".".join(parts[start:]) for start in range(len(parts)))
    return next((end for end in ends if any(end in keys_of_any_release(config) for config in CONFIGS)), "")


def known_elsewhere(key: str, configs: Iterable[str]) -> str:
    """Say which releases have a key that neither release has, or that its end is a key."""
    keys_by_config = {config: keys_of_any_release(config) for config in configs}
    if config_with_key := next((config for config, keys in keys_by_config.items() if key in keys), None):
        releases = releases_with(config_with_key, key)
        return f"neither release has it; {releases[0]} to {releases[-1]} had it"
    if end := key_at_end(key):
        return f"not a key of Kafka, but {end} is one: nothing here tells whether the application passes it to Kafka"
    return "not a key of Kafka: one of the application or its framework, or misspelt"
