"""``plan --to-protocol consumer``: a group of plain consumers changes from the classic protocol to that of KIP-848."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click
from attrs import evolve, frozen

from streams_assignor.cli.params import is_given
from streams_assignor.cli.plan.streams_protocol import (
    ProtocolOptions,
    broker_number,
    change_lines,
    live_target,
    named_target,
)
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.application_plan import PlannedApplication
from streams_assignor.upgrade.group_configurations import MIGRATION_POLICY
from streams_assignor.upgrade.streams_protocol import Facts
from streams_assignor.upgrade.streams_protocol.consumers import ConsumerMigration, SeenConsumers, plan_consumers
from streams_assignor.upgrade.streams_protocol.preflight import refine
from streams_assignor.upgrade.verdict import Verdict

_ALLOWED: Final = frozenset(
    {"to_protocol", "settings_files", "group_name", "bootstrap_servers", "command_config", "broker_release"}
    | {"offline", "output", "verbose"}
)


@frozen
class ConsumerPlan:
    """The plan as a command prints it."""

    migration: ConsumerMigration

    @property
    def told(self) -> Verdict:
        """The verdict of the plan."""
        return self.migration.verdict

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return self.migration.as_json()

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write the plan as text."""
        plan = self.migration
        yield sanitize(plan.headline)
        yield from change_lines(plan.checks, plan.judgements, plan.steps, view)
        if plan.warnings:
            yield from ("", *(sanitize(f"note: {warning}") for warning in plan.warnings))


def plan_consumer_group(
    context: click.Context, options: ProtocolOptions, application: PlannedApplication, *, offline: bool
) -> ConsumerPlan:
    """Return the plan, after a look at the live group if one is named; ``UsageError`` for what is not about it."""
    if any(name not in _ALLOWED and value and is_given(context, name) for name, value in context.params.items()):
        allowed = "--config, --group, --broker-release, --offline and -o"
        raise click.UsageError(f"--to-protocol consumer is for consumers of any library: it goes with {allowed} only")
    facts = Facts(applications=application.facts())
    if options.broker_release:
        facts = facts.with_brokers(broker_number(options.broker_release))
    settings = application.settings.values if application.settings else {}
    if not options.group_name:
        return ConsumerPlan(plan_consumers(facts, named_target(options, settings, "group.id"), offline=offline))
    servers, config, at = live_target(options, settings)
    from streams_assignor.cli.plan.live_group import read_migration, with_limits  # not for a plan without a group

    brokers, group, configurations = read_migration(options.group_name, servers, config)
    facts = with_limits(refine(facts, options.group_name, brokers, group), brokers, configurations)
    policies = {number: shown.get(MIGRATION_POLICY, "") for number, shown in configurations.items()}
    seen = SeenConsumers(brokers=brokers, group=group, policies=policies)
    at = evolve(at, members=(len(group.members) if group else 0) or None)
    return ConsumerPlan(plan_consumers(facts, at, seen, offline=offline))
