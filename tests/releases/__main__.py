"""``python -m tests.releases``: follow the releases of Kafka Streams (docs/guide/following-kafka.md)."""

from __future__ import annotations

import sys

import click

from tests.integration.kafka_jars import Unavailable
from tests.releases.derive import as_text, derive
from tests.releases.published import difference, published_releases
from upgrade.releases import NEWEST, RELEASES
from upgrade.release_names import parse_release_name


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
def derive_row(name: str) -> None:
    """Derive the row of a release from its jars. Status 1 if the table differs, 2 without the jars."""
    spelling = parse_release_name(name)
    if spelling is None or spelling.number.count(".") < 2:
        raise click.BadParameter(f"expected a release such as {NEWEST}, got {name!r}", param_hint="RELEASE")
    if spelling.number == next(iter(RELEASES)):
        raise click.BadParameter(f"expected a release with one before it, got {name!r}", param_hint="RELEASE")
    found = derive(spelling.number)
    click.echo(as_text(found))
    sys.exit(0 if found.agrees else 1)


if __name__ == "__main__":
    try:
        main(standalone_mode=True)
    except Unavailable as missing:
        click.echo(f"error: {missing}", err=True)
        sys.exit(2)
