"""The options of ``group``, as given, and which of them go together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import frozen

from streams_assignor.cli.group._output import OUTPUTS
from streams_assignor.cli.group._wait import (
    EMPTY_CONDITION,
    STABLE_CONDITION,
    RememberedState,
    WaitCondition,
    expected_members,
    release_condition,
)
from streams_assignor.cli.group.what_if import FORMS as FORECAST_FORMS
from streams_assignor.cli.group.what_if import read_operation
from streams_assignor.groups import ExpectedMembers
from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.releases import Release, ResolvedRelease, resolve_release

if TYPE_CHECKING:
    from streams_assignor.spark_sim.forecast import Operation

FLEET_FORMS: Final = ("table", "json", "yaml", "markdown", "html")
"""The forms of ``list --to``."""
WORDS: Final = {
    "describe": "NAME",
    "watch": "[NAME]",
    "wait": "NAME stable|empty|release=RELEASE",
    "what-if": "NAME STEP",
}
"""The words before the name of a group, and their operands; a group of such a name is ``describe NAME``."""


@frozen(kw_only=True)
class InspectionOptions:
    """The options of the command line; ``parse`` makes and checks them."""

    name: str | None
    """The group; None: all groups."""
    watch: bool
    condition: WaitCondition | None
    operation: Operation | None
    assumed: Release | None
    target: ResolvedRelease | None
    output: str | None
    as_json: bool
    check: bool
    reads_lag: bool | None
    """None: as what is asked needs it."""
    expect_members: int | None
    max_lag: int | None
    address: tuple[str, int] | None
    contexts: Path | None
    members: int | None
    since: RememberedState | None
    restarted: tuple[str, ...]
    session_timeout: float | None
    settings_file: Path | None
    state: str | None
    interval: float | None
    timeout: float | None

    @classmethod
    def parse(cls, *, words: Sequence[str], everything: bool, **given: Any) -> InspectionOptions:
        """Return the options of a command line, by parameter; wrong usage if they do not go together."""
        asked = _asked(words, everything, *map(given.pop, ("watch", "wanted", "operation")))
        name, watch, wanted, operation = asked
        assume, target = given.pop("assume"), given.pop("target")
        options = cls(
            name=name,
            watch=watch,
            condition=_condition(wanted, assume) if wanted is not None else None,
            operation=read_operation(operation) if operation is not None else None,
            assumed=_release(assume, "--assume").release if assume is not None else None,
            target=_release(target, "--to", assume) if target else None,
            **given,
        )
        if options.as_json and options.output not in (None, "json"):
            raise click.UsageError(f"expected either --json or -o {options.output}")
        for is_given, fits, expected in _RULES:
            if is_given(options) and not fits(options):
                raise click.UsageError(f"expected {expected}")
        if options.form not in options.forms:
            raise click.UsageError(f"expected -o {'|'.join(options.forms)}, got {options.form}")
        return options

    @property
    def looks_only(self) -> bool:
        """Whether all groups are looked at, and nothing else is asked of them."""
        return not (self.name or self.watch or self.condition or self.operation or self.check)

    @property
    def form(self) -> str:
        """The form of the output."""
        return self.output or ("json" if self.as_json else "table")

    @property
    def forms(self) -> Iterable[str]:
        """The forms that the output can have."""
        return FLEET_FORMS if self.target else FORECAST_FORMS if self.operation else OUTPUTS

    def expected_members(self) -> ExpectedMembers:
        """Return which members ``wait`` waits for; wrong usage if the file of ``--since`` has others."""
        return expected_members(self.name or "", self.members, self.restarted, self.since, self.session_timeout)


_Test = Callable[[InspectionOptions], object]
_RULES: Final[tuple[tuple[_Test, _Test, str], ...]] = (
    (
        lambda given: given.condition,
        lambda given: given.name and not given.watch,
        "--wait with the NAME of one group and without --watch",
    ),
    (
        lambda given: given.max_lag is not None,
        lambda given: given.reads_lag is not False and (given.check or given.watch),
        "--max-lag with --check or --watch, and without --no-lag",
    ),
    (
        lambda given: given.expect_members is not None,
        lambda given: given.name and (given.check or given.watch),
        "--expect-members with the NAME of one group, and with --check or --watch",
    ),
    (
        lambda given: given.operation,
        lambda given: given.name and not (given.watch or given.condition or given.check),
        "what-if NAME STEP, without --watch, --wait and --check",
    ),
    (
        lambda given: given.settings_file or given.state,
        lambda given: given.operation,
        "--config and --state with what-if",
    ),
    (
        lambda given: (
            given.members or given.since or given.restarted or (given.session_timeout and not given.operation)
        ),
        lambda given: given.condition and given.condition.needs_members,
        "--members, --since, --restarted and --session-timeout with wait NAME stable|release=",
    ),
    (
        lambda given: given.contexts,
        lambda given: given.target,
        "--contexts with --to",
    ),
    (
        lambda given: given.target,
        lambda given: given.looks_only,
        "--to with list, and without --check",
    ),
    (
        lambda given: given.address,
        lambda given: given.looks_only and not (given.target or given.output or given.as_json),
        "--serve with list, and without --check, --to and -o",
    ),
)
"""When a rule concerns a command line, when that keeps it, and what it expects."""


def _asked(
    words: Sequence[str], everything: bool, watch: bool, wanted: str | None, operation: str | None
) -> tuple[str | None, bool, str | None, str | None]:
    """Return the name of a group (None: all), whether it is watched, and what is waited for, or played."""
    match (*words,):
        case ("watch", *names) if len(names) < 2 and not (everything and names):
            return next(iter(names), None), True, wanted, operation
        case ("wait", name, condition) if wanted is None and not everything:
            return name, watch, condition, operation
        case ("what-if", name, step_asked) if operation is None and not everything:
            return name, watch, wanted, step_asked
        case (("wait" | "what-if") as word, *_):
            raise click.UsageError(f"expected {word} {WORDS[word]}")
    return _group_name(words, everything), watch, wanted, operation


def _group_name(words: Sequence[str], everything: bool) -> str | None:
    """Return the name of a group; None for all groups."""
    match (*words,):
        case () if everything:
            return None
        case ("list",):
            return None
        case ("describe", name) | (name,) if not everything:
            return name
    raise click.UsageError("expected either the NAME of a group or --all")


def _condition(wanted: str, assume: str | None) -> WaitCondition:
    match wanted.partition("="):
        case ("stable", "", ""):
            return STABLE_CONDITION
        case ("empty", "", ""):
            return EMPTY_CONDITION
        case ("release", "=", name) if name:
            return release_condition(_release(name, "wait", assume))
    raise click.BadParameter(f"expected stable, empty or release=RELEASE, got {wanted!r}", param_hint="wait")


def _release(name: str, option: str, assume: str | None = None) -> ResolvedRelease:
    try:
        return resolve_release(name, assume)
    except UpgradeError as error:
        raise click.BadParameter(str(error), param_hint=option) from error
