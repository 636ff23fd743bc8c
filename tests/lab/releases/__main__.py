"""``python -m tests.lab.releases``: follow the releases of Kafka Streams (docs/how-to/following-kafka.md)."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS
from streams_assignor.upgrade.release_names import parse_release_name
from streams_assignor.upgrade.releases import NEWEST, RELEASES
from streams_assignor.upgrade.upgrade_from import line_number
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.releases.adopt import adopt, review
from tests.lab.releases.derive import as_text, derive
from tests.lab.releases.levels import FIRST_WITH_FEATURES, ask_levels, level_differences, parse_levels
from tests.lab.releases.published import difference, published_releases

COMMAND_LINES = Path(__file__).parents[2] / "assignor/cli/features/command_lines.json"


@click.group
def main() -> None:
    """Compare the table of releases with what Kafka has published."""


@main.command("published")
def compare_published() -> None:
    """Compare the table with the releases that Maven lists. Status 1 if they differ, 2 without a list."""
    published = published_releases()
    if differs := difference(published):
        click.echo(differs)
        sys.exit(1)
    click.echo(f"the table has all {len(published)} releases of kafka-streams up to {published[-1]}")


@main.command("derive")
@click.argument("name", metavar="RELEASE")
@click.option("--write", is_flag=True, help="Also write what the jars decide into the tables, and list the rest.")
@click.option("--bounce", is_flag=True, help="Also bounce real groups from and to the neighbours (a minute each).")
@click.option(
    "--captures", type=click.Path(file_okay=False, path_type=Path), help="Store the captures of the bounces here."
)
def derive_row(name: str, *, write: bool, bounce: bool, captures: Path | None) -> None:
    """Derive the row of a release from its jars. Status 1 if the table differs, 2 without the jars.

    With --write, the tables are extended, and a list says what the jars cannot decide. With --bounce, status 1 also if
    a group did not come through, or the simulation differs from it.
    """
    spelling = parse_release_name(name)
    if spelling is None or spelling.number.count(".") < 2:
        raise click.BadParameter(f"expected a release such as {NEWEST}, got {name!r}", param_hint="RELEASE")
    if spelling.number == next(iter(RELEASES)):
        raise click.BadParameter(f"expected a release with one before it, got {name!r}", param_hint="RELEASE")
    found = derive(spelling.number)
    levels = ask_levels(spelling.number) if line_number(spelling.number) >= FIRST_WITH_FEATURES else []
    differing = list(_level_differences(spelling.number, levels))
    click.echo(as_text(found))
    click.echo("\n".join(differing or ["feature levels: agree with the jars"] * bool(levels)))
    if write:
        adopt(found, levels)
        click.echo("\nwritten; left to review:")
        click.echo("\n".join(f"  - {each}" for each in review(found, levels)))
    agrees = [found.agrees, not differing, *(_bounces_agree(spelling.number, captures) if bounce else ())]
    sys.exit(0 if all(agrees) else 1)


@main.command("tables")
def write_application_tables() -> None:
    """Write the tables of ``upgrade.application`` from the jars of every release (two minutes). Status 2 without."""
    from tests.lab.releases.application_tables import write_tables

    for name, size in write_tables().items():
        click.echo(f"{name}: {size:,} bytes")


@main.command("wrappers")
def write_wrappers() -> None:
    """Write the table of libraries that wrap Kafka Streams from their jars and POMs. Status 2 without."""
    from tests.lab.releases.wrappers import TABLE, derive_wrappers, wrappers_text

    TABLE.write_text(wrappers_text(derive_wrappers()), encoding="utf-8")
    click.echo(f"{TABLE.name}: {TABLE.stat().st_size:,} bytes")


@main.command("tool")
def record_tool() -> None:
    """Record what Kafka's feature tool of the newest release writes for every stored command line."""
    from tests.lab.integration.clusters import JavaTools

    rows = json.loads(COMMAND_LINES.read_text(encoding="utf-8"))
    with JavaTools() as tools:
        answers = [tools.features(*row["arguments"]) for row in rows]
    recorded = [{"arguments": row["arguments"], **each._asdict()} for row, each in zip(rows, answers, strict=True)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in recorded)
    COMMAND_LINES.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    click.echo(f"{len(rows)} command lines, {sum(a != b for a, b in zip(rows, recorded, strict=True))} changed")


def _level_differences(release: str, levels: list[str]) -> Iterator[str]:
    line = release.rpartition(".")[0]
    if levels and line not in CATALOGS:
        yield f"feature levels: {line} is missing in _LINES of upgrade/cluster/features/levels_of_releases.py"
    elif levels:
        found = level_differences(parse_levels(levels), CATALOGS[line])
        yield from (f"feature levels differ: {each}" for each in found)


def _bounces_agree(release: str, captures: Path | None) -> Iterator[bool]:
    """Bounce groups on a broker of the newest release, and print each outcome."""
    from tests.lab.integration.clusters import NEWEST as BROKER
    from tests.lab.integration.every_release import broker_of
    from tests.lab.releases.bounces import neighbour_bounces, play_bounces

    click.echo(f"\nbounces of three instances on a {BROKER} broker, and the simulation:")
    with tempfile.TemporaryDirectory(prefix="bounces-") as scratch, ExitStack() as stack:
        brokers = broker_of(BROKER, Path(scratch), stack)
        for found in play_bounces(neighbour_bounces(release), brokers, Path(scratch)):
            click.echo(f"  {found}")
            if captures:
                captures.mkdir(parents=True, exist_ok=True)
                (captures / f"{'-to-'.join(found.steps)}.json").write_text(found.capture + "\n")
            yield found.agrees


if __name__ == "__main__":
    try:
        main(standalone_mode=True)
    except Unavailable as missing:
        click.echo(f"error: {missing}", err=True)
        sys.exit(2)
