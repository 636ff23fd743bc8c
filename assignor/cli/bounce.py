"""``streams-assignor bounce``: a live rolling bounce of real member processes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from upgrade.features.command_line import checked_servers

if TYPE_CHECKING:
    from assignor.bouncing.story import BounceSettings, Summary


@click.command
@click.option(
    "--bootstrap-servers",
    callback=checked_servers,
    metavar="HOST:PORT,...",
    help="Use this cluster.  [default: an embedded one]",
)
@click.option("--members", type=click.IntRange(1, 26), default=3, show_default=True)
@click.option(
    "--partitions", type=click.IntRange(1, 1_000), default=6, show_default=True, help="One task is made of each."
)
@click.option("--standbys", type=click.IntRange(0), default=1, show_default=True, help="Kafka's num.standby.replicas.")
@click.option("--records-per-second", type=click.IntRange(1, 2000), default=200, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Decides in which order members are bounced.")
@click.option("--order", metavar="A,B,...", help="Bounce the members in this order instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end, and nothing else.")
@click.pass_context
def bounce(
    context: click.Context,
    bootstrap_servers: str | None,
    members: int,
    partitions: int,
    standbys: int,
    records_per_second: int,
    seed: int,
    order: str | None,
    as_json: bool,
) -> None:
    """Bounce real member processes through two upgrades while records flow.

    Starts members that behave like 1.1.1 and upgrades them one by one: from metadata version 2 to 3 in two rounds
    (first with upgrade.from=1.1, then without), and from 3 to a simulated 4 in one round, by version probing (KIP-268).

    Exit status 0 if all use the highest version in the end, every task was owned exactly once after each round, and
    no record was lost; 1 if not; 130 after Ctrl-C. No member is left running.

    \b
    Examples:
      streams-assignor bounce
      streams-assignor bounce --members 5 --order E,D,C,B,A
      streams-assignor bounce --bootstrap-servers localhost:9092 --json
    """  # noqa: D301 - click reads the backspace character
    from assignor.bouncing.story import BounceSettings

    try:
        import assignor.bouncing.run  # noqa: F401 - brings the client libraries, or says which is missing
    except ImportError as error:
        raise click.ClickException(f"{error}; pip install 'streams-assignor[all]'") from error

    settings = BounceSettings(
        bootstrap_servers=bootstrap_servers,
        members=members,
        partitions=partitions,
        standbys=standbys,
        records_per_second=records_per_second,
        seed=seed,
        order=tuple(order.split(",")) if order else (),
    )
    if order and sorted(settings.order) != sorted(settings.names):
        raise click.BadParameter(f"must name each of {', '.join(settings.names)} once", param_hint="--order")
    summary = _run(settings, as_json)
    context.exit(1 if summary.problem else 0)


def _run(settings: BounceSettings, as_json: bool) -> Summary:
    from attrs import asdict
    from rich.console import Console

    from assignor.bouncing import view
    from assignor.bouncing.run import Bounce, BounceFailed
    from assignor.clients.feed import FeedError
    from assignor.clients.mock_cluster import MockClusterError

    console, problem = Console(quiet=as_json), None
    with view.showing(console) as watch, Bounce(settings, watch) as bounced:
        try:
            bounced.run()
        except (BounceFailed, FeedError, MockClusterError) as error:
            problem = str(error)
        summary = bounced.summary(problem)
    if as_json:
        click.echo(json.dumps(asdict(summary), indent=2))
    elif console.is_terminal:
        console.print(view.story(summary))
    if summary.problem or not as_json:
        click.echo(view.verdict(summary), err=summary.problem is not None)
    return summary
