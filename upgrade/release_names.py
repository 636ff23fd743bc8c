"""The spellings of a release that users have at hand, and the release of Kafka that each stands for.

A spelling is a version of Kafka (``v3.9``, ``3.9.0-SNAPSHOT``, ``2.0.x``), of Confluent Platform (``cp-7.6``,
``7.6.1-ccs``), or of a vendor that builds Kafka under Kafka's own number (``3.7.x.kraft``, ``3.6.0.redhat-00003``).
Whether the release exists is the question of ``upgrade.releases``. No library reads these: ``packaging`` knows the
versions of Python packages, and ``3.7.x.kraft`` is none.
Source of the table: "Supported Versions and Interoperability" in the documentation of Confluent Platform.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

CONFLUENT_PLATFORM: Final[Mapping[str, str]] = {
    "3.0": "0.10.0",
    "3.1": "0.10.1",
    "3.2": "0.10.2",
    "3.3": "0.11.0",
    "4.0": "1.0",
    "4.1": "1.1",
    **{f"5.{minor}": f"2.{minor}" for minor in range(6)},
    "6.0": "2.6",
    "6.1": "2.7",
    "6.2": "2.8",
    **{f"7.{minor}": f"3.{minor}" for minor in range(10)},
    **{f"8.{minor}": f"4.{minor}" for minor in range(4)},
}
"""The lines of Confluent Platform, and the line of Kafka in each."""

_NUMBER: Final = r"(?P<number> [0-9]{1,4} (?:\.[0-9]{1,4})+ )"
_CONFLUENT: Final = re.compile(
    rf"""
    (?: (?:cp|confluent(?:[ ]platform)?) [- ]? | (?:confluentinc/)? cp-[a-z-]+: )
    {_NUMBER} (?:\.x)? (?:-[0-9]+)? (?:-cc?[es])? (?:\.arm64|\.amd64|-[0-9]-ubi[89])?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CONFLUENT_BUILD: Final = re.compile(rf"{_NUMBER} (?:\.x)? (?:-[0-9]+)? -cc?[es]", re.VERBOSE | re.IGNORECASE)
_KAFKA: Final = re.compile(
    rf"(?:v|kafka[-_ ])? {_NUMBER} (?P<suffix> \.x | -SNAPSHOT | -rc-?[0-9]+ )?", re.VERBOSE | re.IGNORECASE
)
_VENDORS: Final = tuple(
    (vendor, re.compile(pattern, re.VERBOSE | re.IGNORECASE))
    for vendor, pattern in {
        "Amazon's": rf"{_NUMBER} (?P<any>\.x)? \.(?P<mode>kraft|tiered)",
        "Confluent's": rf"{_NUMBER} -cp[0-9]+",
        "Red Hat's": rf"{_NUMBER} [.-] redhat-[0-9]+",
        # CDH; the number of CDP, HDP or HDF has four parts and follows Kafka's, of which it leaves out the fourth.
        "Cloudera's": r"(?P<number> [0-9]+ (?:\.[0-9]+){2} ) (?: (?:\.[0-9]+){4} (?:-[0-9]+)? | -cdh[0-9.]+ )",
        # Before 0.12, and without the image, it may also be Cloudera's KAFKA-kafka-CDK.
        "Strimzi's": rf"(?: \S*strimzi/kafka:[0-9.]+ | 0\.(?:1[2-9]|[2-9][0-9])\.[0-9]+ ) -kafka- {_NUMBER}",
        "HPE's": r"(?P<number> [0-9]+ (?:\.[0-9]+){2} ) (?: \.[0-9]+-eep-[0-9]+ | -mapr-[0-9]+ )",
        "Huawei's": rf"{_NUMBER} -(?:hw-ei|mrs)-[0-9.]+",
        # Amazon MSK 2.4.1.1, LinkedIn 2.4.1.65 and 3.0.1.66.
        "a vendor's": r"(?P<number> 2\.4\.1 | 3\.0\.1 ) \.[0-9]{1,3}",
    }.items()
)
"""Vendors that build Kafka under its own number, and what they add to it: Amazon MSK, streams for Apache Kafka, ..."""
_PARTS_OF_A_LINE: Final = 2
_AT_FRONT: Final = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)(.*)", re.DOTALL)


@frozen
class ReleaseName:
    """A release of Kafka as numbers (``3.9.2``) or as a line (``3.9``), and what its spelling left out."""

    number: str
    note: str = ""
    """How the spelling was understood; empty if it is Kafka's own."""
    any_patch: bool = False
    """The spelling stands for some release of the line, and does not say which."""
    is_kraft: bool = False
    """The spelling says that brokers run in KRaft mode."""


def parse_release_name(text: str) -> ReleaseName | None:
    """Read a spelling; None if it is not a version number, or a line of Confluent Platform that the table lacks.

    >>> parse_release_name("v3.9").number, parse_release_name("3.9.0-SNAPSHOT").number
    ('3.9', '3.9.0')
    >>> parse_release_name("7.6.1-ccs")
    ReleaseName(number='3.6', note='Confluent Platform 7.6 contains Kafka 3.6', any_patch=True, is_kraft=False)
    >>> parse_release_name("3.6.0.redhat-00003").note
    "Red Hat's build of Kafka 3.6.0, whose own changes are not known"
    """
    text = text.strip()
    if match := _CONFLUENT.fullmatch(text) or _CONFLUENT_BUILD.fullmatch(text):
        return _of_confluent_platform(match["number"])
    for vendor, pattern in _VENDORS:
        if match := pattern.fullmatch(text):
            return _of_vendor(vendor, match)
    match = _KAFKA.fullmatch(text)
    if match is None:
        return None
    number, suffix = match["number"], match["suffix"] or ""
    if suffix.lower() == ".x":
        return ReleaseName(number, any_patch=True)
    return ReleaseName(number, f"{suffix[1:]} of {number} is treated as the release {number}" if suffix else "")


def unread_because(text: str) -> str:
    """Say why a spelling is not read, and what to write instead; empty if there is nothing to say.

    >>> unread_because("cp-9.0")
    'Confluent Platform 9.0 is not in the table (3.0 to 8.3): write the release of Kafka that it contains'
    >>> unread_because("2.8.1-acme")
    "'-acme' is the suffix of no vendor that is known: if this is a build of Kafka 2.8.1, write 2.8.1"
    """
    text = text.strip()
    if match := _CONFLUENT.fullmatch(text) or _CONFLUENT_BUILD.fullmatch(text):
        oldest, *_, newest = CONFLUENT_PLATFORM
        line = _line_of(match["number"])
        return (
            f"Confluent Platform {line} is not in the table ({oldest} to {newest}): write the release of Kafka that "
            "it contains"
        )
    if (match := _AT_FRONT.fullmatch(text)) and len(match[2]) > 1:
        number, suffix = match[1], match[2]
        return (
            f"{suffix!r} is the suffix of no vendor that is known: if this is a build of Kafka {number}, write {number}"
        )
    return ""


def no_newer_line_because(number: str, newest: str) -> str:
    """Say why nothing can be assumed of a number above the newest of a table; empty if it can be a later line of Kafka.

    >>> no_newer_line_because("7.6.1", "4.4.0")
    'for Confluent Platform write cp-7.6 (Kafka 3.6)'
    >>> no_newer_line_because("24.1", "4.4.0")
    'it is no number of Kafka 4: write the release of Kafka that it contains'
    >>> no_newer_line_because("4.9", "4.4.0")
    ''
    """
    if (line := _line_of(number)) in CONFLUENT_PLATFORM:
        return f"for Confluent Platform write cp-{line} (Kafka {CONFLUENT_PLATFORM[line]})"
    major = newest.partition(".")[0]
    if number.partition(".")[0] == major:
        return ""
    return f"it is no number of Kafka {major}: write the release of Kafka that it contains"


def _line_of(number: str) -> str:
    return ".".join(number.split(".")[:_PARTS_OF_A_LINE])


def _of_confluent_platform(number: str) -> ReleaseName | None:
    """The patch level is Confluent's own, so a release stands for its line of Kafka."""
    kafka = CONFLUENT_PLATFORM.get(line := _line_of(number))
    if kafka is None:
        return None
    return ReleaseName(kafka, f"Confluent Platform {line} contains Kafka {kafka}", any_patch=True)


def _of_vendor(vendor: str, match: re.Match[str]) -> ReleaseName:
    number, groups = match["number"], match.groupdict()
    is_line = number.count(".") < (_PARTS_OF_A_LINE + number.startswith("0."))
    release_name = ReleaseName(number, f"{vendor} build of Kafka {number}, whose own changes are not known")
    return evolve(
        release_name, any_patch=bool(groups.get("any")) or is_line, is_kraft=(groups.get("mode") or "") == "kraft"
    )
