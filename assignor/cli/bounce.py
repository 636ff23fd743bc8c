"""``streams-assignor bounce``: a live rolling bounce of real member processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from streams_assignor.cli.features.click_support import bootstrap_servers_callback
from streams_assignor.cli.params import document, output_options
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.upgrade.extras import require

if TYPE_CHECKING:
    from streams_assignor.demo.model import BounceSettings, BounceSummary


@click.command(cls=StrictCommand)
@click.option(
    "--bootstrap-servers",
    callback=bootstrap_servers_callback,
    metavar="HOST:PORT,...",
    help="Use this cluster.  [default: an embedded one]",
)
@click.option("--members", type=click.IntRange(1, 26), default=3, show_default=True)
@click.option("--partitions", type=click.IntRange(1, 1_000), default=6, show_default=True, help="One task each.")
@click.option("--standbys", type=click.IntRange(0), default=1, show_default=True, help="Kafka's num.standby.replicas.")
@click.option("--records-per-second", type=click.IntRange(1, 2000), default=200, show_default=True)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Determines the order in which members are restarted."
)
@click.option(
    "--rules",
    type=click.Choice(["today", "kip-268"]),
    default="today",
    show_default=True,
    help="The rules of version probing: those of Kafka since 3.8, or those of the text of KIP-268.",
)
@click.option("--order", metavar="A,B,...", help="Restart the members in this order instead.")
@output_options("one object at the end, and nothing else")
@click.pass_context
def bounce(
    context: click.Context,
    bootstrap_servers: str | None,
    members: int,
    partitions: int,
    standbys: int,
    records_per_second: int,
    seed: int,
    rules: str,
    order: str | None,
    output: str,
) -> None:
    """Upgrade real member processes twice by rolling restarts (bounces) while records flow.

    Starts members that behave like 1.1.1 and upgrades them one by one: from metadata version 2 to 3 in two bounces
    (first with upgrade.from=1.1, then without), and from 3 to a simulated 4 in one bounce, by version probing
    (KIP-268). With --rules kip-268 a leader answers a version that it does not know with an empty assignment and its
    own version; the member that gets it leaves and joins with that version.

    Exit status 0 if all use the highest version in the end, every task was owned exactly once after each bounce, and
    no record was lost; 1 if not; 130 after Ctrl-C. No member is left running.

    \b
    Examples:
      streams-assignor bounce
      streams-assignor bounce --members 5 --order E,D,C,B,A
      streams-assignor bounce --rules kip-268 --order B,C,A
      streams-assignor bounce --bootstrap-servers localhost:9092 --json
    """  # noqa: D301 - click reads the backspace character
    from streams_assignor.demo.model import BounceSettings, upgrade_steps

    require("kafka", "confluent_kafka")
    settings = BounceSettings(
        bootstrap_servers=bootstrap_servers,
        members=members,
        partitions=partitions,
        standbys=standbys,
        records_per_second=records_per_second,
        seed=seed,
        order=tuple(order.split(",")) if order else (),
        steps=upgrade_steps(rules),
    )
    if order and sorted(settings.order) != sorted(settings.member_names):
        raise click.BadParameter(f"must name each of {', '.join(settings.member_names)} once", param_hint="--order")
    summary = _run_bounce(settings, output)
    context.exit(1 if summary.problem else 0)


def _run_bounce(settings: BounceSettings, output: str) -> BounceSummary:
    from streams_assignor.cli.member import MEMBER_COMMAND
    from streams_assignor.clients.mock_cluster import MockClusterError
    from streams_assignor.demo import render
    from streams_assignor.demo.load_generator import LoadGeneratorError
    from streams_assignor.demo.runner import BounceError, BounceRunner
    from streams_assignor.formats.console import SafeConsole

    console, problem = SafeConsole(quiet=output != "text"), None
    with render.live_display(console) as on_change, BounceRunner(settings, MEMBER_COMMAND, on_change) as bounced:
        try:
            bounced.run()
        except (BounceError, LoadGeneratorError, MockClusterError) as error:
            problem = str(error)
        summary = bounced.summary(problem)
    if output != "text":
        click.echo(document(summary.as_json(), output, indent=2))
    elif console.is_terminal:
        console.print(render.render_summary(summary))
    if summary.problem or output == "text":
        click.echo(render.outcome_line(summary), err=summary.problem is not None)
    return summary
