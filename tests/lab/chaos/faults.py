"""How each kind of fault is brought about, and undone."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from tests.lab.chaos.fault_schedule import Fault
from tests.lab.chaos.run import Chaos

_FENCED_SECONDS: Final = 60.0  # two are enough on a quiet machine
_LEAVES_SECONDS: Final = 0.5  # who is told to end has left the group by then, and the others are rejoining


def inject_fault(chaos: Chaos, fault: Fault) -> None:
    """Begin a fault; its end is on the agenda."""
    FAULTS[fault.kind](chaos, fault)


def _kill(chaos: Chaos, fault: Fault) -> None:
    chaos.group.kill(fault.target)
    chaos.schedule(fault.seconds, partial(chaos.group.start, fault.target))


def _duplicate(chaos: Chaos, fault: Fault) -> None:
    """Start a second process with the instance id of the first, which has to fail by itself."""
    first = chaos.group.start_duplicate(fault.target)
    deadline = time.monotonic() + _FENCED_SECONDS

    def look() -> None:
        if first.ended:
            chaos.group.note_fenced(first)
        elif time.monotonic() > deadline:
            chaos.group.failures.append(f"{fault.target}: the member with the same group.instance.id did not end")
            first.signal(signal.SIGUSR1)
            first.kill()
        else:
            chaos.schedule(0.2, look)

    look()


def _freeze(chaos: Chaos, fault: Fault) -> None:
    worker = chaos.group.workers[fault.target]
    worker.signal(signal.SIGSTOP)
    chaos.group.set_available(fault.target, False)

    def thaw() -> None:
        worker.signal(signal.SIGCONT)
        chaos.group.set_available(fault.target, True)

    chaos.schedule(fault.seconds, thaw)


def _cut(chaos: Chaos, fault: Fault) -> None:
    assert chaos.network
    name = fault.target or chaos.group.leader
    chaos.network.cut(name)
    chaos.group.set_available(name, False)

    def mend() -> None:
        chaos.network.mend(name)
        chaos.group.set_available(name, True)

    chaos.schedule(fault.seconds, mend)


def _clock(chaos: Chaos, fault: Fault) -> None:
    clock = chaos.clocks[fault.target]
    clock.jump(fault.amount)
    chaos.schedule(fault.seconds, partial(clock.jump, 0.0))


def _slow(chaos: Chaos, fault: Fault) -> None:
    chaos.group.slow_down(fault.seconds)
    _rebalance(chaos)
    chaos.schedule(2 * fault.seconds, partial(chaos.group.slow_down, 0.0))


def _crash_leader(chaos: Chaos, fault: Fault) -> None:
    """Kafka Streams does not tell that it assigns: it dies in the middle of the rebalance, as well as that goes."""
    chaos.group.slow_down(fault.seconds)

    def die(leader: str) -> None:
        chaos.group.on_assigning = None
        chaos.say(f"  {leader} assigns, and dies")
        chaos.group.kill(leader)
        chaos.group.slow_down(0.0)
        chaos.schedule(fault.seconds, partial(chaos.group.start, leader))

    if (leader := chaos.group.leader) in chaos.settings.java_members:
        chaos.schedule(_LEAVES_SECONDS, partial(die, leader))
    else:
        chaos.group.on_assigning = die
    _rebalance(chaos)


def _rebalance(chaos: Chaos) -> None:
    """Bounce somebody who does not lead: the group has to assign anew."""
    chaos.bounce(next(name for name in chaos.settings.members if name != chaos.group.leader))


def _node(chaos: Chaos, fault: Fault, end: Callable[[int], None], node: int) -> None:
    if not chaos.cluster.runs(node):  # on a slow machine the last fault of it is not over
        return
    chaos.say(f"  node {node} goes")
    end(node)

    def come_back() -> None:
        chaos.cluster.restart(node)
        chaos.schedule(0.5, look)

    def look() -> None:
        if chaos.cluster.runs(node) and not chaos.cluster.ready(node):
            chaos.schedule(0.5, look)

    chaos.schedule(fault.seconds, come_back)


def _this_node(chaos: Chaos, fault: Fault) -> None:
    _node(chaos, fault, chaos.cluster.kill if "kill" in fault.kind else chaos.cluster.stop, int(fault.target))


def _coordinator(chaos: Chaos, fault: Fault) -> None:
    end = chaos.cluster.kill if "kill" in fault.kind else chaos.cluster.stop
    _node(chaos, fault, end, chaos.cluster.coordinator())


FAULTS: Final[Mapping[str, Callable[[Chaos, Fault], None]]] = MappingProxyType(
    {
        "kill": _kill,
        "duplicate": _duplicate,
        "freeze": _freeze,
        "stumble": _freeze,
        "cut": _cut,
        "cut-leader": _cut,
        "clock": _clock,
        "node-clock": _clock,
        "slow": _slow,
        "dying-leader": _crash_leader,
        "node": _this_node,
        "node-kill": _this_node,
        "coordinator": _coordinator,
        "coordinator-kill": _coordinator,
    }
)
