"""``streams-assignor release``: what is known about one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from streams_assignor.cli.params import ASSUME, complete_release, document, output_options
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.text import format_table
from streams_assignor.spark_sim.regressions.known_bugs import BUGS, RegressionBug
from streams_assignor.spark_sim.regressions.mutants import mutants_registered
from streams_assignor.upgrade import UnknownRelease, UpgradeError
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
from streams_assignor.upgrade.release_names import CONFLUENT_PLATFORM
from streams_assignor.upgrade.releases import Release, ResolvedRelease, resolve_release


@click.command(cls=StrictCommand)
@click.argument("name", metavar="NAME", shell_complete=complete_release)
@click.option(
    "--diff",
    "other",
    metavar="RELEASE",
    shell_complete=complete_release,
    help="Print what differs in RELEASE: configuration keys, public API, libraries, Java and environment.",
)
@ASSUME
@output_options("one object")
def release(name: str, other: str | None, assume: str | None, output: str) -> None:
    """Print what is known about the release NAME of Kafka Streams.

    NAME is a number (2.8.1), a line (2.8, its newest release), a snapshot (3.9.0-SNAPSHOT) or a release of Confluent
    Platform (cp-7.6, 7.6.1-ccs) or another vendor. Of a patch level that is not known, the first release of the line is
    shown.

    \b
    Examples:
      streams-assignor release 2.8
      streams-assignor release 7.6.1-ccs --json
      streams-assignor release 4.5 --assume 4.3
      streams-assignor release 2.8 --diff 4.3 --json
    """  # noqa: D301 - click reads the backspace character
    try:
        resolved = resolve_release(name, assume)
        if other is not None:
            _print_diff(resolved, resolve_release(other, assume), output)
            return
    except UpgradeError as error:
        raise click.UsageError(str(error)) from error
    facts = release_facts(resolved)
    click.echo("\n".join(_release_lines(facts)) if output == "text" else document(facts, output, indent=2))


def _print_diff(origin: ResolvedRelease, target: ResolvedRelease, output: str) -> None:
    from streams_assignor.cli._release_diff import ReleaseDiff  # its tables are read when they are needed

    diff = ReleaseDiff.between(origin.release, target.release)
    notes = list(dict.fromkeys((*origin.notes, *target.notes, *origin.tables, *target.tables)))
    if output != "text":
        click.echo(document({**diff.as_json(), "notes": notes}, output, indent=2))
        return
    head, *rest = diff.lines()
    click.echo("\n".join((head, *(f"note: {note}" for note in notes), *rest)))


def release_facts(resolved: ResolvedRelease) -> dict[str, Any]:
    """Return plain values about a release.

    >>> release_facts(resolve_release("cp-7.6"))["release"]
    '3.6.0'
    """
    release = resolved.release
    behaviour = release.behaviour
    return {
        "release": release.name,
        "notes": [*resolved.notes, *([release.note] if release.note and release.note not in resolved.notes else [])],
        "line": release.line,
        "confluent_platform": [line for line, kafka in CONFLUENT_PLATFORM.items() if kafka == release.line],
        "metadata_version": release.supported_version,
        "version_probing": release.is_probeable,
        "rule_set": release.rule_set,
        "rebalance_protocols": list(release.rebalance_protocols),
        "upgrade_from": {
            value: [effect.name.lower() for effect in release.upgrade_from_effects(value)]
            for value in release.upgrade_from
            if release.can_start_with(value)
        },
        "leaves_on_close": release.leaves_on_close,
        "task_assignor": release.task_assignor,
        "client_tags": behaviour.client_tags,
        "rack_strategies": list(behaviour.rack_strategies),
        "broker_level": _broker_level(release),
        "bugs": [
            {"name": bug.name, "issue": bug.issue, "description": bug.description} for bug in _bugs_around(release)
        ],
    }


def _bugs_around(release: Release) -> Iterator[RegressionBug]:
    """Yield the bugs that an upgrade from or to the release can show."""
    with mutants_registered():  # some rows of the table have a mutant as origin or target
        for bug in BUGS:
            pairs = (pair for releases in bug.affected for pair in releases.pairs())
            if any(release in pair and all(tested.is_released for tested in pair) for pair in pairs):
                yield bug


def _broker_level(release: Release) -> str | None:
    """The newest inter.broker.protocol.version or metadata.version of these brokers; None if it is not known."""
    try:
        return broker_release(release.name).newest.name if release.kafka_name else None
    except UnknownRelease:
        return None


def _release_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield facts["release"]
    yield from (f"note: {note}" for note in facts["notes"])
    yield ""
    yield format_table([(label, value) for label, value in _rows(facts) if value])
    if facts["bugs"]:
        yield "\nbugs of upgrades from or to this release (docs/reference/kafka-bugs.md):"
        yield format_table([(bug["name"], bug["issue"], bug["description"]) for bug in facts["bugs"]])


def _rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    probing = "leaders and members probe" if facts["version_probing"] else "no version probing (KIP-268 came with 2.0)"
    yield "metadata version", f"{facts['metadata_version']}; {probing}"
    yield "rebalance protocol", " or ".join(reversed(facts["rebalance_protocols"]))
    yield "upgrade.from", ", ".join(facts["upgrade_from"]) or "not known, ignored"
    yield "a closed member", "leaves the group" if facts["leaves_on_close"] else "stays until its session times out"
    yield "task assignor", facts["task_assignor"]
    yield "client tags", "yes (KIP-708)" if facts["client_tags"] else "no"
    yield "rack strategies", ", ".join(facts["rack_strategies"]) or "none"
    yield "brokers of this release", f"level {facts['broker_level']}" if facts["broker_level"] else ""
    yield "Confluent Platform", ", ".join(facts["confluent_platform"])
