"""`streams-assignor roll` upgrades the group of a run, and faults happen around its restarts."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from streams_assignor.cli.roll.command import NEEDS_DECISION
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.journal import RollRecord, read_journal
from streams_assignor.upgrade.roll.plan import InstanceConfig
from streams_assignor.upgrade.roll.state import RollState, replay
from tests.lab.chaos.fault_schedule import (
    MISTAKES,
    ROLL_FAULT_KINDS,
    SESSION_SECONDS,
    Fault,
    MemberVersion,
    TimedFault,
    draw_roll,
)
from tests.lab.chaos.faults import inject_fault
from tests.lab.chaos.roll_outcome import ANSWERS, RollOutcome, is_explained, journal_problems, planned_restarts, words
from tests.lab.chaos.run import Chaos
from tests.lab.integration.rolls import CommandServer, NoAnswer, RollProcess

ROLL: Final = "roll"
"""Its place in the network, and its clock."""
_TIMEOUT_SECONDS: Final = 60.0
_SETTLE_SECONDS: Final = 60.0
_QUIET_SECONDS: Final = 1.0
_MOST_RUNS: Final = 40
_LOOK_SECONDS: Final = 0.1

Request = tuple[str, MemberVersion, "Future[None]"]
"""Who is to be restarted as what, and the answer to the command that asks for it."""


class CommandError(Exception):
    """What a command of an operator says before it fails."""


class Rolling:
    """A roll, its operator, and the faults around its restarts. The command is called again until it has finished.

    An operator decides as the documentation says: after a stop, faults end and the group comes to rest. Then an
    instance that is not what it is to be is restarted again, if that is offered; else the same command continues.
    """

    def __init__(self, chaos: Chaos, faults: int, kinds: Collection[str], folder: Path) -> None:
        self._chaos = chaos
        self._faults, self._kinds = faults, kinds
        self._folder = folder
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._server = CommandServer(self._hand_over, chaos.network.host if chaos.network else "127.0.0.1")
        self._around: list[list[TimedFault]] | None = None
        self._restarts: dict[tuple[str, MemberVersion], list[TimedFault]] = {}
        self._struck: list[tuple[float, Fault]] = []
        self._process: RollProcess | None = None
        self._statuses: list[int] = []
        self._deviations: list[str] = []
        self._problems: list[str] = []

    def run(self) -> RollOutcome:
        """Let it upgrade the group, and return how that went."""
        try:
            with self._server:
                self._continue_until_it_ends()
        finally:
            if self._process and not self._process.ended:
                self._process.kill()
        records = self._records()
        calls = [name for _, name, *_ in self._server.calls]
        return RollOutcome(
            statuses=self._statuses,
            planned=planned_restarts(records),
            restarts=len(calls),
            deviations=self._deviations,
            problems=[*self._problems, *journal_problems(records, calls, len(self._deviations))],
        )

    def _continue_until_it_ends(self) -> None:
        answer: tuple[str, ...] = ()
        while len(self._statuses) < _MOST_RUNS:
            status = self._run(*answer)
            answer = ()
            if status == NEEDS_DECISION:
                answer = self._decided()
            elif status != -signal.SIGKILL:
                break
        if self._statuses[-1]:
            self._problems.append(f"roll ends with status {self._statuses[-1]}: {' / '.join(self._last_lines())}")

    # -- the command -----------------------------------------------------------------------------------------------

    @property
    def _journal(self) -> Path:
        return self._folder / "roll.jsonl"

    def _records(self) -> list[RollRecord]:
        content = self._journal.read_bytes() if self._journal.exists() else b""
        return [line.record for line in read_journal(content, str(self._journal)).lines]

    def _run(self, *answer: str) -> int:
        """Run the command until it ends, and do what it asks for meanwhile."""
        chaos = self._chaos
        self._process = process = RollProcess(
            *(chaos.group.name, "--from", chaos.settings.begin.release, "--to", str(chaos.settings.java)),
            *("--restart", self._server.template, "--yes", "--accept-no-way-back", *answer),
            *("--journal", str(self._journal), "--report", str(self._folder / "roll.md")),
            *("--session-timeout", f"{SESSION_SECONDS:g}s", "--timeout", f"{_TIMEOUT_SECONDS:g}s"),
            *("--interval", "0.5s"),
            *("--bootstrap-servers", chaos.cluster.brokers),
            prefix=chaos.network.inside(ROLL) if chaos.network else (),
            environment=chaos.clocks[ROLL].environment if chaos.clocks else {},
        )
        while not process.ended:
            self._serve()
        status = process.wait()
        with (self._folder / "roll.log").open("a") as log:
            log.writelines(f"{line}\n" for line in [*process.lines, f"status {status}"])
        self._statuses.append(status)
        chaos.say(f"  roll ends with status {status}")
        return status

    def _last_lines(self) -> list[str]:
        return self._process.lines[-5:] if self._process else []

    # -- restarts --------------------------------------------------------------------------------------------------

    def _hand_over(self, _verb: str, name: str, release: str, upgrade_from: str) -> None:
        """Let the thread of the run do it, and wait until it is done."""
        done: Future[None] = Future()
        self._requests.put((name, MemberVersion(release, upgrade_from or None), done))
        done.result()

    def _serve(self) -> None:
        """Do what is due and what commands ask for."""
        self._chaos.pause(_LOOK_SECONDS)
        try:
            name, wanted, done = self._requests.get_nowait()
        except queue.Empty:
            return
        try:
            self._restart(name, wanted)
        except (CommandError, NoAnswer) as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    def _restart(self, name: str, wanted: MemberVersion) -> None:
        left = self._faults_of(name, wanted)
        mistake = next((timed for timed in left if timed.fault.kind in MISTAKES), None)
        around = [timed for timed in left if timed.fault.kind not in MISTAKES]
        left[:] = [timed for timed in left if timed.fault.kind in MISTAKES and timed is not mistake]
        self._chaos.say(f"roll restarts {name} as {wanted}; {', '.join(map(str, [*around, *filter(None, [mistake])]))}")
        first = min([0.0, *(timed.after for timed in around)])
        for timed in around:
            self._chaos.schedule(timed.after - first, partial(self._strike, timed.fault))
        self._chaos.pause(-first)
        self._do(mistake.fault.kind if mistake else "", name, wanted)

    def _faults_of(self, name: str, wanted: MemberVersion) -> list[TimedFault]:
        """Return the faults that are left for a restart: those of the next one, if it is called for the first time."""
        if self._around is None:
            settings, planned = self._chaos.settings, planned_restarts(self._records())
            self._around = draw_roll(
                settings.seed, settings.members, planned, self._faults, self._kinds, settings.static_members
            )
        if (name, wanted) not in self._restarts:
            self._restarts[name, wanted] = self._around.pop(0) if self._around else []
        return self._restarts[name, wanted]

    def _do(self, mistake: str, name: str, wanted: MemberVersion) -> None:
        """Restart an instance, or do something else instead."""
        group = self._chaos.group
        if mistake == "old-release" and group.version_of(name).release == wanted.release:
            mistake = ""  # there would be nothing to see
        if mistake:
            self._struck.append((time.monotonic(), Fault(mistake, name)))
        if mistake == "failed-command":
            raise CommandError("no connection to the host")
        if mistake != "old-release":
            group.set_version(name, wanted)
        self._chaos.end(name)
        if mistake != "lost":
            group.start(name)
        if mistake == "endless":
            raise NoAnswer

    # -- faults ----------------------------------------------------------------------------------------------------

    def _strike(self, fault: Fault) -> None:
        worker = self._chaos.group.workers.get(fault.target)
        if worker and worker.ended:
            self._chaos.say(f"  {fault.kind}: {fault.target} does not run")
            return
        self._chaos.say(f"  {fault}")
        self._struck.append((time.monotonic(), fault))
        if fault.kind in ROLL_FAULT_KINDS:
            ROLL_FAULTS[fault.kind](self, fault)
        else:
            inject_fault(self._chaos, fault)

    def kill(self, _fault: Fault) -> None:
        if self._process and not self._process.ended:
            self._process.kill()

    def tear(self, fault: Fault) -> None:
        self.kill(fault)
        *whole, last = self._journal.read_bytes().splitlines(keepends=True)
        if whole:
            self._journal.write_bytes(b"".join([*whole, last[: len(last) // 2]]))

    def beside(self, fault: Fault) -> None:
        name = fault.target if fault.kind == "second-process" else f"{fault.target}-stranger"
        group, deadline = self._chaos.group, time.monotonic() + _SETTLE_SECONDS
        worker = group.start_beside(fault.target, name)

        def look() -> None:
            joined = group.owners.claimed(f"{fault.target} {worker.life}")
            is_over = joined or worker.ended or time.monotonic() > deadline
            self._chaos.schedule(*((fault.seconds, worker.stop) if is_over else (_LOOK_SECONDS, look)))

        look()

    def freeze(self, fault: Fault) -> None:
        if (process := self._process) and not process.ended:
            process.signal(signal.SIGSTOP)
            self._chaos.schedule(fault.seconds, partial(_thaw, process))

    def cut(self, fault: Fault) -> None:
        assert self._chaos.network
        self._chaos.network.cut(ROLL)
        self._chaos.schedule(fault.seconds, partial(self._chaos.network.mend, ROLL))

    def clock(self, fault: Fault) -> None:
        clock = self._chaos.clocks[ROLL]
        clock.jump(fault.amount)
        self._chaos.schedule(fault.seconds, partial(clock.jump, 0.0))

    # -- decisions -------------------------------------------------------------------------------------------------

    def _decided(self) -> tuple[str, ...]:
        """Judge what the command has said, wait until the faults are over, and return the answer."""
        state = replay(self._records(), str(self._journal))
        if found := state.deviation:
            self._deviations.append(words(found))
            self._chaos.say(f"  {words(found)}: {found.observed}")
            since = time.monotonic() - 2 * _TIMEOUT_SECONDS
            if not is_explained(found, [fault for at, fault in self._struck if at >= since]):
                self._problems.append(f"no fault explains {words(found)}: {found.observed}")
        self._settle()
        names = found.instances if found else state.step.instances if state.step else ()
        claimed = self._chaos.group.owners.claimed
        # A thread of Kafka Streams ends when its clock jumps, and the process goes on without it.
        wrong = [name for name in names if not (self._is(name, state) and claimed(name))]
        if wrong and (found is None or SafeOption.AGAIN in found.options):
            return ("--answer", SafeOption.AGAIN.value)
        return ("--answer", ANSWERS[found.kind].value) if found and found.kind in ANSWERS else ()

    def _settle(self) -> None:
        """Wait until faults and commands are over and all partitions have owners: an instance may be missing.

        Who runs and has nothing after a while is restarted as what it is: a process of 2.8.2 was seen to hang after its
        clock had jumped while it was frozen.
        """
        deadline, quiet = time.monotonic() + _SETTLE_SECONDS, 0.0
        while quiet < _QUIET_SECONDS and time.monotonic() < deadline:
            self._serve()
            rests = not self._chaos.is_busy and self._chaos.group.owners.is_stable
            quiet = quiet + _LOOK_SECONDS if rests else 0.0
        if quiet < _QUIET_SECONDS:
            group = self._chaos.group
            for name in [name for name, worker in group.workers.items() if not worker.ended]:
                if not group.owners.claimed(name):
                    self._chaos.say(f"  {name} hangs, and is restarted")
                    self._struck.append((time.monotonic(), Fault("kill", name)))
                    self._chaos.bounce(name)

    def _is(self, name: str, state: RollState) -> bool:
        """Whether an instance runs what the journal says."""
        group = self._chaos.group
        return not group.workers[name].ended and group.version_of(name) == _version(state.configs[name])


def _version(config: InstanceConfig) -> MemberVersion:
    return MemberVersion(config.release.partition("~")[0], config.upgrade_from)


def _thaw(process: RollProcess) -> None:
    if not process.ended:
        process.signal(signal.SIGCONT)


ROLL_FAULTS: Final[Mapping[str, Callable[[Rolling, Fault], None]]] = MappingProxyType(
    {
        "torn-journal": Rolling.tear,
        **dict.fromkeys(["stranger", "second-process"], Rolling.beside),
    }
    | {"roll-kill": Rolling.kill, "roll-freeze": Rolling.freeze, "roll-cut": Rolling.cut, "roll-clock": Rolling.clock}
)
"""Those of `roll` itself; what a command does wrong is no fault of a moment."""
