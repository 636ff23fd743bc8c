"""``group list --to RELEASE``: the Streams groups of clusters, each with the first line of its plan.

A plan is made from what the cluster shows alone, as ``plan TO --group NAME`` makes it. A group of which nothing shows
whether it runs Kafka Streams is a row, too: it is not left out because its metadata is hidden now.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import frozen

from streams_assignor.cli.group._output import markdown_table
from streams_assignor.cli.group.watch import Look, error_text
from streams_assignor.cli.params import document
from streams_assignor.cli.plan._same_release import StaysOn
from streams_assignor.cli.plan.live_group import live_brokers, live_group
from streams_assignor.cli.plan.text import group_headline
from streams_assignor.formats.page import json_block, page_parts
from streams_assignor.formats.text import as_markdown, count, printable
from streams_assignor.groups import InspectedGroup, finding_text
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.groups.offsets import lag_summary
from streams_assignor.upgrade import Release, UpgradeError
from streams_assignor.upgrade.application.live_group import LiveBroker, LiveGroup
from streams_assignor.upgrade.application_plan import PlannedApplication, plan_for
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.input_values import read_text
from streams_assignor.upgrade.patch_levels import is_same_release
from streams_assignor.upgrade.releases import ResolvedRelease
from streams_assignor.upgrade.verdict import Verdict

if TYPE_CHECKING:
    from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata

_WORK_FIRST: Final = (Verdict.ERROR, Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.SAFE_IF, Verdict.SAFE)
_BOOTSTRAP: Final = "bootstrap.servers"
_COLUMNS: Final = ("group", "state", "members", "releases", "lag", "problems")
_STYLES: Final = {Verdict.UNSAFE: "red", Verdict.UNKNOWN: "yellow", Verdict.SAFE_IF: "yellow", Verdict.SAFE: "green"}


@frozen
class GroupToUpgrade:
    """A group and what its upgrade needs."""

    group: InspectedGroup
    live: LiveGroup
    verdict: Verdict
    headline: str
    """The first line of its plan, or why there is none."""
    is_there: bool = False
    """Whether nothing is to be done."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Its texts in the columns."""
        is_hidden = self.group.described.hides_members
        shown = dict.fromkeys(member.shown if member.releases else "?" for member in self.live.members)
        lags = lag_summary(self.group)
        return (
            self.live.name,
            self.live.state,
            "?" if is_hidden else str(len(self.live.members)),
            "?" if is_hidden else ", ".join(shown),
            lags.sum_text if lags else "?",
            str(len(self.group.problems)),
            self.headline,
        )

    @property
    def facts(self) -> str:
        """They in one line, without its name and its plan."""
        _, state, members, releases, lag, problems, _ = self.cells
        return f"{state}  members {members}; lag {lag}; problems {problems}; releases {releases or 'none'}"

    @property
    def work(self) -> tuple[Any, ...]:
        """The key by which groups are sorted: what needs work comes first."""
        lags = lag_summary(self.group)
        rank = _WORK_FIRST.index(self.verdict)
        return self.is_there, rank, -len(self.group.problems), -((lags and lags.total) or 0), self.live.name

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        lags = lag_summary(self.group)
        return {
            **self.live.as_json(),
            "lag": lags.total if lags else None,
            "problems": [finding_text(finding) for finding in self.group.problems],
            "verdict": self.verdict.value,
            "headline": self.headline,
        }


@frozen
class Cluster:
    """A cluster beside a release."""

    name: str
    brokers: tuple[LiveBroker, ...] = ()
    groups: tuple[GroupToUpgrade, ...] = ()
    others: int | None = None
    """The groups that do not run Kafka Streams, or are empty, which shows no protocol; None if no group was seen."""
    failures: tuple[str, ...] = ()
    """The parts that could not be asked."""

    @property
    def summary(self) -> str:
        """Its brokers, its groups and what could not be asked, in one line."""
        by_text = Counter(broker.text for broker in self.brokers)
        brokers = [f"{count(number, 'broker')}: {text}" for text, number in by_text.items()]
        streams = f"{count(len(self.groups), 'Streams group')}, "
        groups = [] if self.others is None else [f"{streams}{count(self.others, 'group')} empty or of others"]
        return "; ".join((*brokers, *groups, *(f"not seen: {failure}" for failure in self.failures)))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "cluster": self.name,
            "brokers": [broker.as_json() for broker in self.brokers],
            "groups": [each.as_json() for each in self.groups],
            "other_groups": self.others,
            "failures": list(self.failures),
        }


def read_contexts(path: Path) -> Mapping[str, CommandConfig]:
    """Return the clusters of a file, by name; ``UpgradeError`` names what is wrong.

    Each table of the TOML file is a cluster, with the keys of ``--command-config``.
    """
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise UpgradeError(f"expected TOML in {path}, got {error}") from None
    if not tables:
        raise UpgradeError(f"expected a table for each cluster in {path}, got none")
    return {name: _context(f"{path}, [{name}]", table) for name, table in tables.items()}


def _context(place: str, table: Any) -> CommandConfig:
    if not isinstance(table, dict):
        raise UpgradeError(f'{place}: expected a table with "{_BOOTSTRAP}" = "HOST:PORT", got {table!r}')
    if wrong := next((key for key, value in table.items() if not isinstance(value, str)), None):
        raise UpgradeError(f'{place}: expected "{wrong}" = "TEXT": a key with dots is written in quotes')
    try:
        config = CommandConfig.checked(table)
    except (UpgradeError, OSError) as error:
        raise UpgradeError(f"{place}: {error}") from None
    if not config.brokers:
        raise UpgradeError(f'{place}: expected "{_BOOTSTRAP}" = "HOST:PORT"')
    return config


def cluster_of(
    name: str,
    look: Look,
    brokers: Mapping[int, FeatureMetadata],
    unknown_brokers: str,
    target: ResolvedRelease,
    assume: Release | None,
) -> Cluster:
    """Return what a look shows beside a release: the groups that need most work first."""
    lives = [(group, live_group(group.described, brokers, unknown_brokers, assume)) for group in look.groups]
    to_upgrade = [_to_upgrade(group, live, target) for group, live in lives if _may_run_streams(group)]
    if look.error:
        return Cluster(name, failures=(error_text(look.error),))
    return Cluster(
        name,
        live_brokers(brokers),
        tuple(sorted(to_upgrade, key=lambda each: each.work)),
        len(lives) - len(to_upgrade),
        (*look.failures, *filter(None, [unknown_brokers])),
    )


def _may_run_streams(group: InspectedGroup) -> bool:
    """Whether it runs Kafka Streams, or nothing shows whether it does."""
    hides = group.described.state in WITHOUT_METADATA and not group.described.protocol
    return group.has_tasks or hides or bool(group.described.error)


def _to_upgrade(group: InspectedGroup, live: LiveGroup, target: ResolvedRelease) -> GroupToUpgrade:
    try:
        origin = live.origin(target)
        if is_same_release(origin, target):
            stays = StaysOn(origin, target, PlannedApplication(group=live))
            return GroupToUpgrade(group, live, stays.told, stays.headline, stays.told is Verdict.SAFE)
        planned = plan_for(PlannedApplication(group=live), origin, target)
    except UpgradeError as error:
        return GroupToUpgrade(group, live, Verdict.UNKNOWN, f"unknown: {error}")
    verdict = Verdict.UNSAFE if planned.blocked else planned.advice.guidance.verdict
    return GroupToUpgrade(group, live, verdict, group_headline(planned.advice, planned.blocked, planned.judged))


# -- the forms -------------------------------------------------------------------------------------------------------


def show_fleet(clusters: Sequence[Cluster], target: str, form: str) -> None:
    """Print clusters in a form of ``--output``."""
    plain = {"to": target, "clusters": [cluster.as_json() for cluster in clusters]}
    match form:
        case "table":
            _print_lines(clusters, target)
        case "markdown":
            click.echo("\n\n".join(_markdown(cluster, target) for cluster in clusters))
        case "html":
            click.echo(_page(clusters, target, plain))
        case _:
            click.echo(document(plain, form, indent=2))


def _print_lines(clusters: Iterable[Cluster], target: str) -> None:
    """Print a line of each group, and its plan below it: a column of plans would be too narrow to be read."""
    from rich.padding import Padding
    from rich.text import Text

    from streams_assignor.formats.console import SafeConsole

    console = SafeConsole(highlight=False)
    for cluster in clusters:
        console.print(Text(f"{cluster.name}: {cluster.summary}", style="bold"))
        for each in cluster.groups:
            console.print()
            line = Text.assemble((printable(each.live.name), "bold"), "  ", printable(each.facts))
            console.print(Padding(line, (0, 0, 0, 1)))
            console.print(Padding(Text(printable(each.headline), style=_STYLES.get(each.verdict, "")), (0, 0, 0, 3)))
    console.print(f"\nA plan in full: streams-assignor plan {target} --group NAME")


def _markdown(cluster: Cluster, target: str) -> str:
    rows = [each.cells for each in cluster.groups]
    head = f"## {as_markdown(cluster.name)}\n\n{as_markdown(cluster.summary)}"
    return f"{head}\n\n{markdown_table((*_COLUMNS, f'to {target}'), rows)}" if rows else head


_SCRIPT: Final = """import { banner, el, fill, folded, pageData, part } from "./dom.mjs";
const data = pageData();
fill(data.clusters.map((cluster) => part(cluster.name, el("p", {}, cluster.summary), cluster.groups.map((group) =>
  [el("h4", {}, group.name), el("p", {}, group.facts), banner(group.verdict, group.headline)]))),
  folded("JSON", data.json, "json"));
"""


def _page(clusters: Iterable[Cluster], target: str, plain: Mapping[str, Any]) -> str:
    shown = [{"name": each.name, "summary": each.summary, "groups": [*map(_shown, each.groups)]} for each in clusters]
    data = {"clusters": shown, "json": json.dumps(plain, indent=2)}
    parts = page_parts(
        "Groups to upgrade",
        _SCRIPT,
        [json_block("data", data)],
        heading=f"Streams groups beside {target}",
        lead="Groups that need work come first. Each plan is made from what the cluster shows.",
        origin="Made by streams-assignor group list.",
    )
    return "".join(parts).rstrip()


def _shown(each: GroupToUpgrade) -> dict[str, str]:
    return {
        "name": each.live.name,
        "facts": each.facts,
        "verdict": each.verdict.value,
        "headline": each.headline,
    }
