"""``streams-assignor features``: Kafka's feature tool, ``kafka-features``, without Java.

Arguments, output and exit statuses are those of Kafka 4.4.0 (``feature_command``, ``click_support``); the help of the
options names the additions.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from streams_assignor.cli.features import _feature_command
from streams_assignor.cli.features._argument_parser import expand_command_line
from streams_assignor.cli.features.click_support import (
    BOOTSTRAP_LISTENERS,
    CommandFailure,
    F,
    FeatureCommandGroup,
    bootstrap_servers_variable,
    confirm_unsafe,
    output_form,
    say_step,
    shared_bootstrap_servers,
    shared_option,
    shared_options,
    usage_error,
)
from streams_assignor.cli.params import document
from streams_assignor.upgrade.cluster.client.command_config import COMMAND_CONFIG_VARIABLE, CommandConfig
from streams_assignor.upgrade.cluster.client.errors import ApiError, FeatureUpdateFailed
from streams_assignor.upgrade.cluster.features.catalog import FeatureCatalog, version_key
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS, NEWEST_CATALOG
from streams_assignor.upgrade.cluster.features.rpc import FeatureUpdate, Listener, UpgradeType
from streams_assignor.upgrade.release_names import parse_release_name

if TYPE_CHECKING:
    from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient


def _client() -> FeatureClient:
    from streams_assignor.upgrade.cluster.client.feature_client import DEFAULT_TIMEOUT_SECONDS, FeatureClient

    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # errors are raised as exceptions
    config = _command_config(shared_option("command_config") or os.environ.get(COMMAND_CONFIG_VARIABLE))
    servers = {listener: shared_bootstrap_servers(name) for name, listener in BOOTSTRAP_LISTENERS.items()}
    if not any(servers.values()):
        servers = {Listener.BROKER: config.brokers, Listener.CONTROLLER: config.controllers}
    if not any(servers.values()):
        servers = {Listener.BROKER: bootstrap_servers_variable()}
    for listener, bootstrap in servers.items():
        if bootstrap:
            seconds = shared_option("timeout") or config.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
            say_step(f"asking {bootstrap}")
            return FeatureClient(bootstrap, listener, config.settings, seconds)
    raise usage_error("You must specify either --bootstrap-controller or --bootstrap-server.")


@click.group(cls=FeatureCommandGroup, expand=expand_command_line, subcommand_metavar="COMMAND ...")
@shared_options
def features() -> None:
    """Show, raise and lower the feature versions of a cluster, metadata.version above all.

    The same sub-commands, lines and exit statuses as Kafka's own kafka-features (4.4.0): 0 done, 1 anything else.
    The options below may be given before or after the sub-command.

    \b
    Examples:
      streams-assignor features --bootstrap-server localhost:9092 describe
      streams-assignor features --bootstrap-server localhost:9092 upgrade --release-version 4.1 --dry-run
      streams-assignor features --bootstrap-server localhost:9092 upgrade --feature metadata.version=4.0-IV3
      streams-assignor features --bootstrap-controller localhost:9093 downgrade --feature metadata.version=24
      streams-assignor features --bootstrap-server localhost:9092 disable --feature transaction.version
      streams-assignor features version-mapping --release-version 4.0
      streams-assignor features feature-dependencies --feature eligible.leader.replicas.version=1
    """  # noqa: D301 - click reads the backspace character


def _command_config(file: str | None) -> CommandConfig:
    try:
        return CommandConfig.read(Path(file)) if file else CommandConfig()
    except OSError as error:
        why = error.strerror or error
        raise CommandFailure(f"--command-config {file}: expected a file of settings; {why}") from None


_DRY_RUN: Final = click.option(
    "--dry-run", is_flag=True, help="Check whether the change is possible, without making it."
)
_UNSAFE_OPTION: Final = click.option(
    "--unsafe", is_flag=True, help="Also if it may irreversibly destroy metadata; asks for confirmation."
)
_YES_OPTION: Final = click.option("--yes", is_flag=True, help="Do not ask for confirmation of an --unsafe change.")


def _level_options(verb: str, all_help: str) -> Callable[[F], F]:
    """Add the options of ``upgrade`` and ``downgrade`` that name levels."""
    options = (
        click.option(
            "--metadata",
            metavar="LEVEL",
            help="DEPRECATED by Kafka: the level of metadata.version, such as 3.3-IV3 or 7.",
        ),
        click.option(
            "--release-version",
            "release",
            metavar="LEVEL",
            help="All features as in a new cluster of, say, 4.1 or 4.1-IV0.",
        ),
        click.option(
            "--feature",
            "features",
            multiple=True,
            metavar="NAME=LEVEL",
            help="May be repeated. metadata.version also by name.",
        ),
        click.option("--all", f"--{verb}-all", "everything", is_flag=True, help=all_help),
        click.option(
            "--as-release",
            "catalog",
            metavar="RELEASE",
            default=NEWEST_CATALOG.release,
            show_default=True,
            callback=lambda _context, _parameter, value: _catalog_named(value),
            help="The release of Kafka whose levels --all uses, such as 4.2.",
        ),
    )
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def _catalog_named(release: str) -> FeatureCatalog:
    spelling = parse_release_name(release)
    releases = list(CATALOGS)
    if spelling is None or version_key(spelling.number) not in CATALOGS:
        raise click.BadParameter(f"expected a release of Kafka from {releases[0]} to {releases[-1]}, got {release!r}")
    return CATALOGS[version_key(spelling.number)]


_INT32_RANGE: Final = range(-(2**31), 2**31)


class _JavaInteger(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A number as Java's ``Integer`` reads it."""

    name = "integer"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002 - click's
        """Convert the text to a number, as Kafka's tool does."""
        number = _feature_command.parse_java_integer(value, _INT32_RANGE)
        if number is None:
            why = f"could not convert '{value}' to Integer (For input string: \"{value}\")"
            raise usage_error(f"argument --node-id: {why}")
        return number


@features.command("describe")
@shared_options
@click.option(
    "--node-id", "node", metavar="ID", type=_JavaInteger(), help="Ask this broker or controller instead of any."
)
def _describe(node: int | None) -> None:
    """Describes the current active feature flags.

    \b
    Example:
      streams-assignor features describe --bootstrap-server localhost:9092 --node-id 2
    """  # noqa: D301 - click reads the backspace character
    client = _client()
    if node is not None and node < 0:
        raise CommandFailure(f"Invalid node id {node}: must be non-negative.")
    described = client.describe(node)
    if output_form() != "text":
        _print_document(_feature_command.describe_json(described, node))
    else:
        _print(_feature_command.describe_lines(described))


@features.command("upgrade")
@shared_options
@_level_options("upgrade", "Every feature to the highest level of --as-release (KIP-584).")
@_DRY_RUN
def _upgrade(everything: bool, catalog: FeatureCatalog, dry_run: bool, **asked: Any) -> None:
    """Upgrade one or more feature flags.

    \b
    Examples:
      streams-assignor features upgrade --bootstrap-server localhost:9092 --feature metadata.version=4.0-IV3
      streams-assignor features upgrade --bootstrap-server localhost:9092 --release-version 4.1 --dry-run
      streams-assignor features upgrade --bootstrap-server localhost:9092 --all --dry-run
    """  # noqa: D301 - click reads the backspace character
    _run_change(
        "upgrade",
        UpgradeType.UPGRADE,
        _feature_command.upgrade_all if everything else None,
        catalog,
        dry_run=dry_run,
        asked=asked,
    )


@features.command("downgrade")
@shared_options
@_level_options("downgrade", "Every feature down to the highest level of --as-release (KIP-584).")
@_UNSAFE_OPTION
@_YES_OPTION
@_DRY_RUN
def _downgrade(everything: bool, catalog: FeatureCatalog, unsafe: bool, yes: bool, dry_run: bool, **asked: Any) -> None:
    """Downgrade one or more feature flags.

    \b
    Examples:
      streams-assignor features downgrade --bootstrap-server localhost:9092 --feature metadata.version=4.0-IV2
      streams-assignor features downgrade --bootstrap-server localhost:9092 --all --as-release 3.9.2 --dry-run
    """  # noqa: D301 - click reads the backspace character
    every = _feature_command.downgrade_all if everything else None
    _run_change("downgrade", _downgrade_type(unsafe), every, catalog, dry_run=dry_run, asked=asked, yes=yes)


@features.command("disable")
@shared_options
@click.option("--feature", "names", multiple=True, metavar="NAME", help="May be repeated.")
@_UNSAFE_OPTION
@_YES_OPTION
@_DRY_RUN
def _disable(names: Sequence[str], unsafe: bool, yes: bool, dry_run: bool) -> None:
    """Disable one or more feature flags. This is the same as downgrading the version to zero.

    \b
    Example:
      streams-assignor features disable --bootstrap-server localhost:9092 --feature transaction.version
    """  # noqa: D301 - click reads the backspace character
    client = _client()
    _run_update(
        client, "disable", _feature_command.disable_updates(names, _downgrade_type(unsafe)), dry_run=dry_run, yes=yes
    )


@features.command("version-mapping")
@shared_options
@click.option(
    "--release-version",
    "release",
    default=NEWEST_CATALOG.latest_production.name,
    show_default=True,
    metavar="LEVEL",
    help="A level of metadata.version, or a release for its newest level.",
)
def _version_mapping(release: str) -> None:
    """Print the level of every feature in a new cluster of a release; needs no cluster.

    \b
    Example:
      streams-assignor features version-mapping --release-version 4.0-IV1
    """  # noqa: D301 - click reads the backspace character
    levels = _feature_command.version_mapping(release)
    if output_form() != "text":
        _print_document({"release": release, "levels": dict(levels)})
    else:
        _print(_feature_command.version_mapping_lines(release, levels))


@features.command("feature-dependencies")
@shared_options
@click.option("--feature", "wanted", multiple=True, required=True, metavar="NAME=LEVEL", help="May be repeated.")
def _feature_dependencies(wanted: Sequence[str]) -> None:
    """Print the levels of other features that a level of a feature depends on; needs no cluster.

    \b
    Example:
      streams-assignor features feature-dependencies --feature eligible.leader.replicas.version=1
    """  # noqa: D301 - click reads the backspace character
    dependencies = (
        (*pair, _feature_command.feature_dependencies(*pair))
        for pair in map(_feature_command.parse_feature_level, wanted)
    )
    if output_form() != "text":
        _print_document(
            {
                "features": [
                    {"feature": name, "level": level, "requires": dict(needed)} for name, level, needed in dependencies
                ]
            }
        )
        return
    for dependency in dependencies:
        _print(_feature_command.dependency_lines(*dependency))


_UNSAFE_DOWNGRADE: Final = UpgradeType.UNSAFE_DOWNGRADE


def _downgrade_type(unsafe: bool) -> UpgradeType:
    return _UNSAFE_DOWNGRADE if unsafe else UpgradeType.SAFE_DOWNGRADE


def _run_change(
    verb: str,
    upgrade_type: UpgradeType,
    every: Callable[[Mapping[str, int], FeatureCatalog], list[_feature_command.LevelStep]] | None,
    catalog: FeatureCatalog,
    *,
    dry_run: bool,
    asked: dict[str, Any],
    yes: bool = False,
) -> None:
    """Compute the updates and send them."""
    client = _client()
    if every is None:
        if asked["metadata"] is not None and asked["release"] is None:
            click.echo(_feature_command.METADATA_FLAG_DEPRECATED, err=output_form() != "text")
        _run_update(
            client,
            verb,
            _feature_command.UpdateArguments(verb, upgrade_type, **asked).updates(catalog),
            dry_run=dry_run,
            yes=yes,
        )
        return
    if any(value for value in asked.values()):
        raise CommandFailure("Can not specify `all` with other feature flags.")
    described = client.describe()
    if described.epoch is None:
        raise CommandFailure("The cluster did not report its finalized features, so there is nothing to compare with.")
    steps = every(described.finalized, catalog)
    updates = {step.feature: FeatureUpdate(step.new, upgrade_type) for step in steps}
    if updates or output_form() != "text":
        hint = f" --all uses the levels of Kafka {catalog.release}; --as-release names another release."
        _run_update(client, verb, updates, dry_run=dry_run, yes=yes, steps=steps, hint=hint)
    else:
        click.echo(f"Nothing to {verb}: no feature is {_RELATION[verb]} the levels of Kafka {catalog.release}.")


_RELATION: Final = {"upgrade": "below", "downgrade": "above"}


def _run_update(
    client: FeatureClient,
    verb: str,
    updates: _feature_command.Updates,
    *,
    dry_run: bool,
    yes: bool = False,
    steps: Sequence[_feature_command.LevelStep] = (),
    hint: str = "",
) -> None:
    """Send the update and print the results; ``hint``: what to do if the cluster refuses it."""
    lossy = [f"{name}={update.level}" for name, update in sorted(updates.items()) if update.type is _UNSAFE_DOWNGRADE]
    if lossy and not (dry_run or yes):
        confirm_unsafe(f"An unsafe downgrade to {', '.join(lossy)} may irreversibly destroy metadata")
    results: Mapping[str, ApiError | None] = dict.fromkeys(updates)
    try:
        if updates:
            client.update(updates, dry_run=dry_run)
    except FeatureUpdateFailed as refused:
        results = refused.results
    if output_form() != "text":
        _print_document(_feature_command.results_json(verb, updates, results, dry_run=dry_run))
    elif steps:
        _print(_feature_command.step_lines(steps, results))
    else:
        _print(
            _feature_command.result_line(verb, name, updates[name].level, results[name], dry_run=dry_run)
            for name in sorted(updates)
        )
    if failed := sum(map(bool, results.values())):
        raise CommandFailure(f"{failed} out of {len(updates)} operation(s) failed.{hint}")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _print_document(content: Mapping[str, Any]) -> None:
    click.echo(document(content, output_form(), indent=2))
