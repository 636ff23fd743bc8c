"""The roles of releases: a scenario or a path of one upgrade, written for another upgrade of its equivalence class.

Texts are made last: releases are replaced in values (``Instance``, ``Upgrade``), not in texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import evolve, frozen

from streams_assignor.spark_sim.model.scenario import Instance, Scenario
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.release_behaviour import CURRENT
from streams_assignor.upgrade.releases import Release

ROLES: Final = Upgrade(Release("\ue000", CURRENT), Release("\ue001", CURRENT), Plan.ONE_BOUNCE, "\ue002")
"""Stands for every upgrade of a class, to be written only: its names are characters that occur in no other text."""


@frozen
class Recast:
    """Replaces the releases of one upgrade, and its value of ``upgrade.from``, by those of another.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> older = Upgrade(release_named("1.0"), release_named("2.0"), Plan.ONE_BOUNCE)
    >>> newer = Upgrade(release_named("1.1"), release_named("2.1"), Plan.ONE_BOUNCE)
    >>> Recast(older, newer).line("A@1.0.2 B@1.0.2 | bounce A>2.0.1")
    'A@1.1.1 B@1.1.1 | bounce A>2.1.1'
    """

    source: Upgrade
    target: Upgrade

    def release(self, release: Release) -> Release:
        """Return the release that has the same role; other releases stay."""
        if release == self.source.origin:
            return self.target.origin
        return self.target.target if release == self.source.target else release

    def instance(self, instance: Instance) -> Instance:
        """Return the instance that has the same role."""
        value = instance.upgrade_from
        return Instance(self.release(instance.release), self.target.upgrade_from if value else value)

    def scenario(self, scenario: Scenario) -> Scenario:
        """Return a scenario of the source as one of the target."""
        return scenario.with_instances(self.instance)

    def line(self, line: str) -> str:
        """Return the line of a scenario of the source as one of the target."""
        return line if not line or self.source == self.target else str(self.scenario(Scenario.parse(line)))

    def hops(self, hops: Iterable[Upgrade]) -> list[Upgrade]:
        """Return the hops of a path with the releases of the target; their values of ``upgrade.from`` stay."""
        return [evolve(hop, origin=self.release(hop.origin), target=self.release(hop.target)) for hop in hops]
