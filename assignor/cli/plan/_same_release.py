"""The plan from a release to itself: nothing, unless members or another topology are against it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.cli.plan.text import CANNOT_BE_TOLD
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.upgrade.application.live_group import listed
from streams_assignor.upgrade.application.parameters import PlanParameters, plan_parameters
from streams_assignor.upgrade.application_plan import PlannedApplication, blocked_by
from streams_assignor.upgrade.hazards import TopologyChange
from streams_assignor.upgrade.releases import ResolvedRelease
from streams_assignor.upgrade.verdict import Verdict

UNKNOWN_PROTOCOL: Final = (
    f"exit status {CANNOT_BE_TOLD}: nothing shows whether this is a streams group, which does not accept the new "
    "topology: --config with group.protocol, or --group, decides"
)


@frozen
class StaysOn:
    """The plan, with the reasons against it."""

    origin: ResolvedRelease
    target: ResolvedRelease
    application: PlannedApplication
    offline: bool = False

    @property
    def change(self) -> TopologyChange | None:
        """The changes of the topology, in a group of the known protocol."""
        change, settings = self.application.change, self.application.settings
        if change is None:
            return None
        parameters = plan_parameters(settings) if settings else PlanParameters()
        in_streams_group = parameters.in_streams_group(self.target.release, self.application.group)
        return evolve(change, in_streams_group=in_streams_group)

    @property
    def told(self) -> Verdict:
        """Whether it is right to do nothing."""
        return Verdict.UNSAFE if [*self._reasons()] else Verdict.UNKNOWN if [*self._doubts()] else Verdict.SAFE

    @property
    def texts(self) -> list[str]:
        """Why it is wrong or cannot be told, else that it is done, and how the releases were read."""
        why = [*self._reasons()] or [*self._doubts()] or ["already there"]
        return [*why, *dict.fromkeys((*self.origin.reading, *self.target.reading))]

    @property
    def headline(self) -> str:
        """The first line of it."""
        release, nothing = self.target.release, ", nothing to do" if self.told is Verdict.SAFE else ""
        return f"{release} to {release}: {self.told.value}: {self.texts[0]}{nothing}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        release, change, group = self.target.release.name, self.change, self.application.group
        plain: dict[str, Any] = {"from": release, "to": release, "verdict": self.told.value, "conditions": []}
        plain |= {"plan": None, "upgrade_from": None, "steps": [], "warnings": [], "notes": self.texts}
        plain |= {"headline": self.headline} | ({"topologies": change.as_json()} if change else {})
        return plain | ({"live_group": group.as_json()} if group else {})

    def lines(self, _view: DisplayOptions) -> Iterator[str]:
        """Write the plan as text."""
        change, group = self.change, self.application.group
        yield from (self.headline, *(f"note: {note}" for note in self.texts[1:]))
        for part in (change.lines() if change else (), group.lines() if group else ()):
            if lines := [*part]:
                yield from ("", *lines)

    def _reasons(self) -> Iterator[str]:
        """Yield why it is wrong to do nothing, or to start the members with the other topology."""
        if (change := self.change) and change.is_refused(rolled=not self.offline):
            yield blocked_by(change)
        if self.application.group and (why := self.application.group.blocked(self.target)):
            yield why

    def _doubts(self) -> Iterator[str]:
        """Yield what it depends on, and nothing shows."""
        if self.change and self.change.is_undecided(rolled=not self.offline):
            yield UNKNOWN_PROTOCOL
        group = self.application.group
        if doubts := group.not_on(self.target) if group else ():
            labels = listed([member.label for member in doubts])
            yield f"nothing to do if these members run {self.target.release}, which nothing shows: {labels}"
