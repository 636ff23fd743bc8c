"""The console script ``streams-assignor``."""

import click

from streams_assignor.cli.commands import COMMANDS
from streams_assignor.cli.lazy_group import LazyGroup, run_script


@click.command(cls=LazyGroup, lazy_commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="streams-assignor")
def cli() -> None:
    """The Kafka Streams rebalance protocol in Python, with version probing (KIP-268).

    \b
    Examples:
      streams-assignor plan 2.8 4.3
      streams-assignor group billing --bootstrap-servers localhost:9092
      streams-assignor replay "A@2.8 B@2.8 C@2.8 | bounce A>4.3 B>4.3 C>4.3"
      streams-assignor bounce
      streams-assignor sweep --matrix kip-268 --out sweep-results
    """  # noqa: D301 - click reads the backspace character


def main() -> None:
    """Run the console script."""
    run_script(cli)


if __name__ == "__main__":
    main()
