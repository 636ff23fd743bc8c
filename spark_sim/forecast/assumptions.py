"""The assumptions of every forecast, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams_assignor.spark_sim.forecast.observation import ObservedGroup, possible_releases
from streams_assignor.upgrade.releases import OURS

_SESSION_S_BEFORE_3_0: Final = 10.0
_SESSION_S: Final = 45.0
_LONGER_SESSION_SINCE: Final = (3, 0)
_OURS: Final = "members of this project keep their tasks while they rejoin, as all do but those on aiokafka"
ASSUMPTIONS: Final = (
    "members that stop are back before their sessions time out, unless they are stopped for good",
    "stores of active tasks, and of standbys while no probing rebalance is scheduled, are caught up",
    "messages and restoring take no time (how fast a group restores is not known): what is counted is waiting for "
    "session timeouts",
)
SEVERAL_AT_A_TIME: Final = (
    "instances of one step are back before the session of any of them times out, or each has come to rest before the "
    "next; of the process ids that they draw some sets are played"
)

EITHER_PROTOCOL: Final = (
    "no member owned a partition when it joined last, so nothing shows whether the group rebalances cooperatively or, "
    "as with upgrade.from up to 2.3, eagerly: both are played"
)


def assumptions(observed: ObservedGroup, session_timeout_s: float | None, *, ephemeral: bool) -> tuple[str, ...]:
    """Return what a forecast of a group assumes; arguments as those of ``forecast``."""
    default = f"session.timeout.ms is {default_session_s(observed):.0f} s, the default of the release"
    return (
        *ASSUMPTIONS,
        *(() if session_timeout_s else (default,)),
        *([_OURS] if any(OURS in possible_releases(member) for member in observed.group.members) else []),
        *_about_state(observed, ephemeral=ephemeral),
    )


def default_session_s(observed: ObservedGroup) -> float:
    """Return the longest default of ``session.timeout.ms`` that a member may have."""
    releases = (release for member in observed.group.members for release in possible_releases(member))
    longer = any(release.number >= _LONGER_SESSION_SINCE for release in releases)
    return _SESSION_S if longer else _SESSION_S_BEFORE_3_0


def _about_state(observed: ObservedGroup, *, ephemeral: bool) -> Iterator[str]:
    stateful = [
        str(number) for number, subtopology in enumerate(observed.topology.subtopologies) if subtopology.stateful
    ]
    if not stateful:
        yield "no subtopology has state: no member has reported a store"
        return
    yield f"subtopologies with state, as far as members report stores: {', '.join(stateful)}"
    yield (
        "a process that starts has no state of before"
        if ephemeral
        else "a process that starts finds its state stores, and since 2.6.2, 2.7.1 and 2.8.0 its process id"
    )
    if observed.state_sizes:
        yield "bytes are estimated: the sizes of changelogs at their leaders, in proportion to offsets"
    yield from (f"how many bytes the state has is not known: {problem}" for problem in observed.size_problems)
