"""``streams-assignor features``: Kafka's feature tool, ``kafka-features``, for machines without Java.

Words, lines and exit statuses are those of Kafka 4.3.1 (``tool`` has the lines, ``command_line`` the manners); what it
does beyond that stands in the help of its options.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from upgrade.features import tool
from upgrade.features.command_config import CommandConfig
from upgrade.features.command_line import (
    BOOTSTRAPS,
    F,
    Failure,
    Tool,
    agree,
    given,
    given_servers,
    shared_options,
    wrong_usage,
)
from upgrade.features.levels import CATALOGS, NEWEST, Catalog
from upgrade.features.rpc import FeatureUpdate, Listener, Refused, UpdateRefused, UpgradeType

if TYPE_CHECKING:
    from upgrade.features.client import FeatureClient


def _client() -> FeatureClient:
    try:
        from upgrade.features.client import SECONDS, FeatureClient
    except ImportError as error:
        raise click.ClickException(f"{error}; pip install 'streams-assignor[kafka-python]'") from None
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what matters arrives as an exception
    file = given("command_config")
    config = CommandConfig.read(Path(file)) if file else CommandConfig()
    servers = {listener: given_servers(name) for name, listener in BOOTSTRAPS.items()}
    if not any(servers.values()):
        servers = {Listener.BROKER: config.brokers, Listener.CONTROLLER: config.controllers}
    for listener, bootstrap in servers.items():
        if bootstrap:
            seconds = given("timeout") or config.seconds or SECONDS
            return FeatureClient(bootstrap, listener, config.settings, seconds)
    raise wrong_usage("You must specify either --bootstrap-controller or --bootstrap-server.")


@click.group(cls=Tool, invoke_without_command=True, subcommand_metavar="COMMAND ...")
@shared_options
@click.pass_context
def features(context: click.Context) -> None:
    """Show, raise and lower the feature versions of a cluster, metadata.version above all.

    The same sub-commands, lines and exit statuses as Kafka's own kafka-features (4.3.1): 0 done, 1 anything else.
    What stands below may be given before the sub-command or after it.

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
    if context.invoked_subcommand is None:
        raise wrong_usage("too few arguments")


_DRY_RUN: Final = click.option("--dry-run", is_flag=True, help="Ask whether it could be done, and do not do it.")
_METADATA_OPTION: Final = click.option(
    "--metadata", metavar="LEVEL", help="DEPRECATED by Kafka: the level of metadata.version, such as 3.3-IV3 or 7."
)
_RELEASE_OPTION: Final = click.option(
    "--release-version", "release", metavar="LEVEL", help="All features as in a new cluster of, say, 4.1 or 4.1-IV0."
)
_FEATURES_OPTION: Final = click.option(
    "--feature", "features", multiple=True, metavar="NAME=LEVEL", help="May be repeated. metadata.version also by name."
)
_UNSAFE_OPTION: Final = click.option(
    "--unsafe", is_flag=True, help="Even if it may irreversibly destroy metadata; asks before."
)
_YES_OPTION: Final = click.option("--yes", is_flag=True, help="Do not ask before an --unsafe change.")
_KNOWLEDGE_OPTION: Final = click.option(
    "--as-release",
    "catalog",
    type=click.Choice(list(CATALOGS)),
    default=NEWEST.kafka,
    show_default=True,
    callback=lambda _context, _parameter, value: CATALOGS[value],
    help="The release of Kafka whose levels --all means.",
)


def _everything(verb: str, what: str) -> Callable[[F], F]:
    return click.option("--all", f"--{verb}-all", "everything", is_flag=True, help=what)


_INT32: Final = range(-(2**31), 2**31)


def _node(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    if text is None or (node := tool.number(text, _INT32)) is not None:
        return None if text is None else node
    raise wrong_usage(f"argument --node-id: could not convert '{text}' to Integer (For input string: \"{text}\")")


@features.command("describe")
@shared_options
@click.option("--node-id", "node", metavar="ID", callback=_node, help="Ask this broker or controller, not any.")
def _describe(node: int | None) -> None:
    """Describes the current active feature flags.

    \b
    Example:
      streams-assignor features describe --bootstrap-server localhost:9092 --node-id 2
    """  # noqa: D301 - click reads the backspace character
    client = _client()
    if node is not None and node < 0:
        raise Failure(f"Invalid node id {node}: must be non-negative.")
    described = client.describe(node)
    if given("json"):
        _print_json(tool.describe_json(described, node))
    else:
        _print(tool.describe_lines(described))


@features.command("upgrade")
@shared_options
@_METADATA_OPTION
@_RELEASE_OPTION
@_FEATURES_OPTION
@_everything("upgrade", "Every feature to the highest level that --as-release knows (KIP-584).")
@_KNOWLEDGE_OPTION
@_DRY_RUN
def _upgrade(everything: bool, catalog: Catalog, dry_run: bool, **asked: Any) -> None:
    """Upgrade one or more feature flags.

    \b
    Examples:
      streams-assignor features upgrade --bootstrap-server localhost:9092 --feature metadata.version=4.0-IV3
      streams-assignor features upgrade --bootstrap-server localhost:9092 --release-version 4.1 --dry-run
      streams-assignor features upgrade --bootstrap-server localhost:9092 --all --dry-run
    """  # noqa: D301 - click reads the backspace character
    _change(
        "upgrade", UpgradeType.UPGRADE, tool.upgrade_all if everything else None, catalog, dry_run=dry_run, asked=asked
    )


@features.command("downgrade")
@shared_options
@_METADATA_OPTION
@_RELEASE_OPTION
@_FEATURES_OPTION
@_everything("downgrade", "Every feature down to what --as-release knows (KIP-584).")
@_KNOWLEDGE_OPTION
@_UNSAFE_OPTION
@_YES_OPTION
@_DRY_RUN
def _downgrade(everything: bool, catalog: Catalog, unsafe: bool, yes: bool, dry_run: bool, **asked: Any) -> None:
    """Downgrade one or more feature flags.

    \b
    Examples:
      streams-assignor features downgrade --bootstrap-server localhost:9092 --feature metadata.version=4.0-IV2
      streams-assignor features downgrade --bootstrap-server localhost:9092 --all --as-release 3.9.2 --dry-run
    """  # noqa: D301 - click reads the backspace character
    every = tool.downgrade_all if everything else None
    _change("downgrade", _downgrade_type(unsafe), every, catalog, dry_run=dry_run, asked=asked, yes=yes)


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
    _update(client, "disable", tool.deletions(names, _downgrade_type(unsafe)), dry_run=dry_run, yes=yes)


@features.command("version-mapping")
@shared_options
@click.option(
    "--release-version",
    "release",
    default=NEWEST.latest_production.name,
    show_default=True,
    metavar="LEVEL",
    help="A level of metadata.version, or a release for its newest level.",
)
def _version_mapping(release: str) -> None:
    """Look up the level that every feature has in a new cluster of a release; no cluster is asked.

    \b
    Example:
      streams-assignor features version-mapping --release-version 4.0-IV1
    """  # noqa: D301 - click reads the backspace character
    levels = tool.mapping(release)
    if given("json"):
        _print_json({"release": release, "levels": dict(levels)})
    else:
        _print(tool.mapping_lines(release, levels))


@features.command("feature-dependencies")
@shared_options
@click.option("--feature", "wanted", multiple=True, required=True, metavar="NAME=LEVEL", help="May be repeated.")
def _feature_dependencies(wanted: Sequence[str]) -> None:
    """Look up what a level of a feature needs of other features; no cluster is asked.

    \b
    Example:
      streams-assignor features feature-dependencies --feature eligible.leader.replicas.version=1
    """  # noqa: D301 - click reads the backspace character
    found = ((*pair, tool.dependencies(*pair)) for pair in map(tool.feature_level, wanted))
    if given("json"):
        _print_json(
            {"features": [{"feature": name, "level": level, "requires": dict(needed)} for name, level, needed in found]}
        )
        return
    for each in found:
        _print(tool.dependency_lines(*each))


_UNSAFE: Final = UpgradeType.UNSAFE_DOWNGRADE


def _downgrade_type(unsafe: bool) -> UpgradeType:
    return _UNSAFE if unsafe else UpgradeType.SAFE_DOWNGRADE


def _change(
    verb: str,
    how: UpgradeType,
    every: Callable[[Mapping[str, int], Catalog], list[tool.Step]] | None,
    catalog: Catalog,
    *,
    dry_run: bool,
    asked: dict[str, Any],
    yes: bool = False,
) -> None:
    """Find out which levels are wanted, and have them set."""
    client = _client()
    if every is None:
        if asked["metadata"] is not None and asked["release"] is None:
            click.echo(tool.DEPRECATED, err=bool(given("json")))
        _update(client, verb, tool.Change(verb, how, **asked).updates(catalog), dry_run=dry_run, yes=yes)
        return
    if any(value for value in asked.values()):
        raise Failure("Can not specify `all` with other feature flags.")
    described = client.describe()
    if described.epoch is None:
        raise Failure("The finalised features are not known there, so there is nothing to compare with.")
    steps = every(described.finalized, catalog)
    updates = {step.feature: FeatureUpdate(step.new, how) for step in steps}
    if updates or given("json"):
        _update(client, verb, updates, dry_run=dry_run, yes=yes, steps=steps)
    else:
        click.echo(f"Nothing to {verb}: no feature is {_BEYOND[verb]} what Kafka {catalog.kafka} knows.")


_BEYOND: Final = {"upgrade": "below", "downgrade": "above"}


def _update(
    client: FeatureClient,
    verb: str,
    updates: tool.Updates,
    *,
    dry_run: bool,
    yes: bool = False,
    steps: Sequence[tool.Step] = (),
) -> None:
    """Send the update, and print what came of it."""
    lossy = [f"{name}={each.level}" for name, each in sorted(updates.items()) if each.type is _UNSAFE]
    if lossy and not (dry_run or yes):
        agree(f"An unsafe downgrade to {', '.join(lossy)} may irreversibly destroy metadata")
    results: Mapping[str, Refused | None] = dict.fromkeys(updates)
    try:
        if updates:
            client.update(updates, dry_run=dry_run)
    except UpdateRefused as refused:
        results = refused.results
    if given("json"):
        _print_json(tool.results_json(verb, updates, results, dry_run=dry_run))
    elif steps:
        _print(tool.step_lines(steps, results))
    else:
        _print(
            tool.result_line(verb, name, updates[name].level, results[name], dry_run=dry_run)
            for name in sorted(updates)
        )
    if failed := sum(map(bool, results.values())):
        raise Failure(f"{failed} out of {len(updates)} operation(s) failed.")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _print_json(found: Mapping[str, Any]) -> None:
    click.echo(json.dumps(found, indent=2))
