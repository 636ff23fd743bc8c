"""What a plan comes to in somebody's own group: explored, and then its restarts played one by one and measured.

Up to five members exploration is exact, with one crash and one late member in each schedule; of larger groups five
members are explored, and that is said. Measured is the whole group, with its tasks and standbys, in the order A, B, C,
... and without faults: how often it rebalances, what moves, and for how long nobody has a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import asdict, evolve, frozen

from spark_sim.coordinator import SESSION_TIMEOUT_MS
from spark_sim.drawing import names_of
from spark_sim.explore import Cell, Explored, explore
from spark_sim.guide import Way, guide
from spark_sim.jobs import MOST_EXPLORED, of_explored
from spark_sim.scenario import Instance, Scenario, Step, step
from spark_sim.shape import NORMAL, Shape
from spark_sim.watched import MOST_BYTES_OF_A_GROUP, Watched
from upgrade.matrix import Plan, Upgrade, every_plan

HOW: Final = {
    "": "each member is back only after its session has timed out",
    "fast": "each member is back before its session has timed out",
    "leave": "each member leaves the group as it stops",
}
ASSUMED: Final = (
    "members restart one after the other, the next when the group has come to rest",
    "messages, assignment and restoring state take no time: what is counted is waiting for session timeouts",
    "each process has one thread, and all tasks are of one subtopology that reads one topic",
)
NOT_STATIC: Final = "explored were members without group.instance.id; only what is played has it"


@frozen
class Group:
    """Somebody's group: its size, and how long its session timeout is."""

    members: int = 3
    shape: Shape = NORMAL
    session_timeout_s: float = SESSION_TIMEOUT_MS / 1000


@frozen
class Checked:
    """One hop of the plan, explored; ``instead`` is the simplest safe way if that hop is not."""

    explored: Explored
    instead: Way | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain values, in the names of ``matrix.json``."""
        kept = ("from_release", "to_release", "plan", "upgrade_from", "verdict", "members", "faults")
        more = ("states", "transitions", "schedules", "max_rebalances", "property", "message", "example")
        plain = of_explored(self.explored).as_json()
        return {key: plain[key] for key in (*kept, *more)} | {"instead": self.instead and str(self.instead)}


@frozen
class Measured:
    """A whole hop played in one way: what it costs the group. Times are of tasks that nobody has, in seconds.

    ``violation``: the first property that did not hold, and how; ``example``: what was played then, for ``replay``.
    """

    origin: str
    target: str
    plan: str
    how: str
    rebalances: int
    moved: int
    task_seconds: float
    longest_s: float
    member_bytes: int
    group_bytes: int
    violation: str | None = None
    example: str | None = None


@frozen
class Answer:
    """What there is to say about a plan and a group."""

    group: Group
    checked: tuple[Checked, ...]
    measured: tuple[Measured, ...]

    @property
    def safe(self) -> bool:
        """Whether neither exploration nor what was played has anything against any hop.

        What is played may know more: a static member that is back in time gets what it had, whatever its release.
        """
        return all(each.explored.safe for each in self.checked) and not any(each.violation for each in self.measured)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "members": self.group.members,
            "tasks": len(self.group.shape.tasks),
            "explored": [each.as_json() for each in self.checked],
            "measured": [asdict(each) for each in self.measured],
            "assumed": [*ASSUMED, *([NOT_STATIC] if self.group.shape.static else [])],
            "broker_limit_bytes": MOST_BYTES_OF_A_GROUP,
        }


def answer(hops: Iterable[Upgrade], group: Group) -> Answer:
    """Explore and measure the hops of a plan."""
    wanted = list(hops)
    checked = tuple(_checked(hop, min(group.members, MOST_EXPLORED)) for hop in wanted)
    return Answer(group, checked, tuple(each for hop in wanted for each in _measured(hop, group)))


def _checked(hop: Upgrade, members: int) -> Checked:
    explored = explore(Cell(hop, members, patient=True))
    return Checked(explored, None if explored.safe else _instead(hop))


def _instead(hop: Upgrade) -> Way:
    """Explore whatever else could be done with the pair; three members show it, in a second or two."""
    results = [of_explored(explore(Cell(each, patient=True))) for each in every_plan(hop.origin, hop.target)]
    return guide(results)[hop.origin, hop.target].way


# -- played in full --------------------------------------------------------------------------------------------------


def _measured(hop: Upgrade, group: Group) -> Iterator[Measured]:
    for mode, how in _modes(hop).items():
        scenario = _scenario(hop, group, mode)
        world = Watched(scenario)
        world.run()
        broken = next(iter(world.violations), None)
        yield Measured(
            hop.origin.name,
            hop.target.name,
            hop.plan.value,
            how,
            world.coordinator.generation - 1,
            world.moved,
            _seconds(sum(world.unowned_ms.values()), group),
            _seconds(max(world.unowned_ms.values(), default=0), group),
            world.member_bytes,
            world.group_bytes,
            f"{broken.property} ({broken.text})" if broken else None,
            str(scenario) if broken else None,
        )


def _seconds(waited_ms: int, group: Group) -> float:
    """Return how long that is in the group: the simulation waits only for sessions, and its own are shorter."""
    return round(waited_ms * group.session_timeout_s / SESSION_TIMEOUT_MS, 3)


def _modes(hop: Upgrade) -> dict[str, str]:
    """Return the ways to restart: who leaves the group when it stops always does, and others never."""
    if hop.plan is Plan.OFFLINE:
        return {"": "all members stop, and start when their sessions have timed out"}
    leaves = [each.leaves_on_close for each in (hop.origin, hop.target)]
    return {
        mode: how
        for mode, how in HOW.items()
        if (mode == "leave" and any(leaves)) or (mode != "leave" and not all(leaves))
    }


def _scenario(hop: Upgrade, group: Group, mode: str) -> Scenario:
    names = names_of(group.members)
    members = tuple((name, Instance(hop.origin)) for name in names)
    if hop.plan is Plan.OFFLINE:
        steps: list[Step] = [step("stop", *names), step("start", *names, to=Instance(hop.target))]
    else:
        rounds = [Instance(each.release, each.upgrade_from) for each in hop.rounds]
        steps = [step("bounce", name, to=instance, mode=mode) for instance in rounds for name in names]
    return Scenario(members, tuple(steps), group.shape)


def shape_of(tasks: int | None, standbys: int, *, static: bool) -> Shape:
    """Return a group with one stateful subtopology of so many tasks."""
    return evolve(NORMAL, partitions=tasks or NORMAL.partitions, standbys=standbys, static=static)
