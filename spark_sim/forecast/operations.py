"""The steps that a forecast is asked for: ``restart pod-3``, ``stop pod-3``, ``add``, ``upgrade pod-3 4.3.1``.

``pod-1,pod-2`` are several instances at a time.
``restart all`` and ``upgrade all 4.3.1`` ask for the cheapest order of restarts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from streams_assignor.groups import matches
from streams_assignor.spark_sim.forecast.observation import ForecastError, ObservedProcess
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.upgrade.releases import release_named

RESTART, STOP, ADD, UPGRADE = "restart", "stop", "add", "upgrade"
_UUID_BEGINNING: Final = 8
"""Characters of a process id that name it, as tables show them."""
ALL: Final = "all"
_FORMS: Final = "restart WHICH,...|all, stop WHICH,..., add, upgrade WHICH,...|all RELEASE [upgrade.from=VALUE]"


@frozen
class Operation:
    """One step of an operator."""

    verb: str
    which: str = ""
    """The process, or several with commas, each as ``groups.matches`` takes it; empty if a process is added."""
    instance: Instance | None = None
    """The next configuration of the process; None: the present one."""
    after_session: bool = False
    """Whether a process that is started again is away until the sessions of its members have timed out."""

    def __str__(self) -> str:
        instance = str(self.instance).replace(",", " ") if self.instance else ""
        return " ".join(filter(None, (self.verb, self.which, instance)))

    @property
    def is_for_all(self) -> bool:
        """Whether all processes are restarted, one after the other."""
        return self.which == ALL and self.verb in (RESTART, UPGRADE)

    @property
    def returns(self) -> bool:
        """Whether what is stopped is started again."""
        return self.verb in (RESTART, UPGRADE)

    def processes(self, known: Sequence[ObservedProcess]) -> tuple[ObservedProcess, ...]:
        """Return the processes that are meant; ``ForecastError`` if a name is that of none, or of several."""
        found = [_process_named(which, known) for which in self.which.split(",")]
        if twice := next((process.name for process in found if found.count(process) > 1), None):
            raise ForecastError(f"{self.which!r} names {twice} twice")
        return tuple(found)


def _process_named(which: str, known: Sequence[ObservedProcess]) -> ObservedProcess:
    meant = [
        process
        for process in known
        if which
        and (
            any(matches(which, thread.described) for thread in process.threads)
            or (len(which) >= _UUID_BEGINNING and str(process.process_id).startswith(which))
        )
    ]
    if len(meant) == 1:
        return meant[0]
    names = ", ".join(process.name for process in meant or known)
    number = "several processes are" if meant else "no process is"
    raise ForecastError(f"{number} {which!r}: expected the host, or a client.id without thread, of one of {names}")


def parse_operation(text: str) -> Operation:
    """Parse a step.

    >>> str(parse_operation("upgrade pod-3 2.8 upgrade.from=2.3"))
    'upgrade pod-3 2.8.2 upgrade.from=2.3'

    Raises:
        ForecastError: It is none of these.
        UpgradeError: The release or ``upgrade.from`` is unknown.
    """
    match text.split():
        case ["add"]:
            return Operation(ADD)
        case [("restart" | "stop") as verb, which]:
            return Operation(verb, which)
        case ["upgrade", which, release]:
            return Operation(UPGRADE, which, _instance(release))
        case ["upgrade", which, release, setting] if setting.startswith("upgrade.from="):
            return Operation(UPGRADE, which, _instance(release, setting.partition("=")[2]))
    raise ForecastError(f"expected one of {_FORMS}, got {text!r}")


def _instance(release: str, upgrade_from: str | None = None) -> Instance:
    instance = Instance(release_named(release), upgrade_from)
    instance.config()  # raises what a member of that release raises
    return instance
