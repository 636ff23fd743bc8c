"""What no roll may do to a group: the states that a plan calls unsafe, in what its coordinator has stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.codec.coordinator import RECORD_TYPES, decode_value
from streams_assignor.groups import Finding, finding_text
from streams_assignor.groups.checks import run_checks
from streams_assignor.groups.history._generation import AssignmentDecoder, Generation, classic_generation
from tests.lab.integration.group_log import GROUP_KEY, group_records
from tests.lab.integration.rolls import Configuration

UNSAFE: Final = frozenset(
    {
        "cannot-probe",
        "cannot-read",
        "error-code",
        "no-assignment",
        "not-subscribed",
        "owned-twice",
        "same-process",
        "unreadable",
        "without-owner",
    }
)
"""Checks of ``group`` that nothing of a safe upgrade meets in any generation, however short it is."""
_COOPERATIVE_SINCE: Final = 5
"""The supported version of 2.4, the first release that keeps tasks while it rebalances: no older one beside it."""


def unsafe_generations(brokers: str, group: str) -> list[str]:
    """Return what is unsafe in a generation that the coordinator has stored, with its number."""
    stored = list(stored_generations(brokers, group))
    assert stored, f"no generation of {group} is stored"
    return [f"generation {each.number}: {text}" for each in stored for text in unsafe_in(each)]


def stored_generations(brokers: str, group: str) -> Iterator[Generation]:
    """Yield all generations of a group that have members, oldest first, as an audit decodes them."""
    decoder, last = AssignmentDecoder(), None
    for offset, stored_ms, value in group_records(brokers, group):
        fields = decode_value(RECORD_TYPES[GROUP_KEY], value).fields
        last = classic_generation(group, offset, stored_ms, fields, len(value), decoder, last)
        if last.members:
            yield last


def unsafe_in(generation: Generation) -> Iterator[str]:
    """Yield what is unsafe in one generation."""
    assert generation.view
    for finding in run_checks(generation.view):
        if finding.code in UNSAFE or (finding.code == "mixed-protocols" and _has_unaware(generation)):
            yield _text(finding)


def _has_unaware(generation: Generation) -> bool:
    """Whether a member is of a release that knows nothing of cooperative members."""
    supported = [member.subscription.supported_version for member in generation.members.values()]
    return any(version is None or version < _COOPERATIVE_SINCE for version in supported)


def _text(finding: Finding) -> str:
    return f"{finding.code}: {finding_text(finding)}"


def unsafe_findings(brokers: str, group: str, folder: Path) -> list[str]:
    """Return what an ``audit`` finds in the history of a group and is unsafe."""
    ran = CliRunner().invoke(
        cli, ["audit", "--bootstrap-servers", brokers, "--group", group, "--out", str(folder / "audit"), "--json"]
    )
    assert 0 == ran.exit_code, ran.output
    (found,) = json.loads(ran.stdout)["groups"]
    findings: list[dict[str, Any]] = found["findings"]
    return [f"{each['code']}: {each['text']}" for each in findings if each["code"] in UNSAFE]


def strange_mixtures(
    mixtures: Sequence[frozenset[Configuration]], planned: Sequence[Configuration]
) -> list[frozenset[Configuration]]:
    """Return what ran side by side and is neither one configuration of a plan nor two that follow each other."""
    allowed = [frozenset(planned[at : at + size]) for size in (1, 2) for at in range(len(planned))]
    return [mixture for mixture in mixtures if mixture not in allowed]
